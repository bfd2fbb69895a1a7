"""What ctxarc does: one file a verb. An operation joins the planes and returns data; it prints and decides nothing."""
