"""Arithmetic, so that models need not do it in their heads. Read from a syntax tree: nothing is ever evaluated as code."""

import ast
import math
import operator
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

from registry.errors import ToolFailed
from registry.tools.arguments import shortened
from registry.tools.function import tool

Number = int | float

_LONGEST = 1_000
_MOST_BITS = 10_000
_MOST_DIGITS = 100


@tool(effect="pure", trusted=True)
async def calculator(expression: Annotated[str, Field(description="such as (2 + 3) * sqrt(16) / 7 ** 2")]) -> Number:
    """Work out an arithmetic expression: + - * / // % **, parentheses, and sqrt, abs, round, min, max."""
    return calculate(expression)


def calculate(expression: str) -> Number:
    """The value of the expression. Raises `ToolFailed`, which says what can't be worked out."""
    if len(expression) > _LONGEST:
        raise _failed(f"an expression may have {_LONGEST} characters, this one has {len(expression)}")
    try:
        return _value(ast.parse(expression.strip(), mode="eval").body)
    except SyntaxError as error:
        raise _failed(f"{shortened(expression)!r} is not an arithmetic expression: {error.msg}") from error
    except ZeroDivisionError as error:
        raise _failed("division by zero") from error
    except (RecursionError, MemoryError) as error:
        raise _failed("the expression is nested too deeply") from error
    except OverflowError as error:
        raise _failed("a number became too large") from error
    except (TypeError, ValueError) as error:
        raise _failed(str(error)) from error


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return _bounded(number)
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _SIGNS:
            return _SIGNS[type(sign)](_value(operand))
        case ast.BinOp(left=left, op=symbol, right=right) if type(symbol) in _OPERATORS:
            return _bounded(_OPERATORS[type(symbol)](_value(left), _value(right)))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _bounded(_FUNCTIONS[name](*map(_value, args)))
        case _:
            raise _failed(_refusal(node))


def _refusal(node: ast.expr) -> str:
    match node:
        case ast.Call(func=ast.Name(id=name)) | ast.Name(id=name) if name not in _FUNCTIONS:
            return f"{name!r} is not known; there are: {', '.join(_FUNCTIONS)}"
        case ast.BinOp(op=ast.BitXor()):
            return "'^' is not known; a power is written '**'"
        case ast.Tuple():
            return "a comma only stands between the arguments of a function; write 1000, not 1,000"
        case _:
            return f"{shortened(ast.unparse(node))!r} is not arithmetic; there are: + - * / // % ** ( ), {', '.join(_FUNCTIONS)}"


def _bounded(number: Any) -> Number:
    if isinstance(number, complex):
        raise ValueError("the result is not a real number")
    if isinstance(number, int) and number.bit_length() > _MOST_BITS:
        raise OverflowError
    if not math.isfinite(number):
        raise OverflowError
    return number  # type: ignore[no-any-return]


def _power(base: Number, exponent: Number) -> Any:
    # Checked beforehand: the work itself would take longer than anybody waits.
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * exponent > _MOST_BITS:
        raise OverflowError
    return base**exponent


def _root(number: Number) -> float:
    if number < 0:
        raise ValueError(f"{number} has no real square root")
    return math.sqrt(number)


def _rounded(number: Number, digits: Number = 0) -> Number:
    if abs(digits) > _MOST_DIGITS:
        raise ValueError(f"round takes at most {_MOST_DIGITS} digits")
    return round(number, int(digits)) if digits else round(number)


_SIGNS: dict[type[ast.unaryop], Callable[[Number], Number]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}

_OPERATORS: dict[type[ast.operator], Callable[[Number, Number], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}

_FUNCTIONS: dict[str, Callable[..., Number]] = {
    "sqrt": _root,
    "abs": abs,
    "round": _rounded,
    "min": lambda *numbers: min(numbers),
    "max": lambda *numbers: max(numbers),
}


def _failed(why: str) -> ToolFailed:
    return ToolFailed("calculator", why)
