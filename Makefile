.PHONY: demo test bench nightly schemas

demo:
	scripts/demo

test:
	scripts/test

# Measures against the bare floor in the same run and prints ratios.
bench:
	scripts/bench

# What needs repetition: long fuzzing and stress. The normal run does each of them a few times.
nightly:
	HYPOTHESIS_PROFILE=nightly scripts/test tests -m 'nightly or not nightly'

schemas:
	.venv/bin/slop-code schema --write src/slop_code/schemas
