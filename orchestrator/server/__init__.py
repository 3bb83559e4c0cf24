"""dagwright as a service over HTTP. Nothing else imports this: it comes with the extra `server`."""
