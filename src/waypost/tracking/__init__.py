"""What happened to a message after it left: opens and clicks, by signed links that outlive every row."""
