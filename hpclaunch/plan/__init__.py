"""Job + Site -> LaunchPlan. Pure: no clock, no environment, no scheduler is asked."""
