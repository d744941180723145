"""Processes of a submission: a fork server that starts them, the driver's client, and plain values between them."""
