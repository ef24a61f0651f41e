"""The scikit-learn estimators: shells that check, pose, solve and store."""
