"""What many recorded cells say together: comparison, replication, and the audit of a sweep's robustness."""
