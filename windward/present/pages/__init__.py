"""Files that are sent to a browser as they are: the report's frame and the service's page."""
