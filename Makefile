.PHONY: demo test bench docs nightly schemas

demo:
	scripts/demo

test:
	scripts/test

# Measures against the bare floor in the same run and prints ratios.
bench:
	scripts/bench

# Builds the guides as a site in site/.
docs:
	scripts/docs

# What needs repetition or time: long fuzzing and stress, of which the normal run does a little, and the site.
nightly:
	HYPOTHESIS_PROFILE=nightly scripts/test tests -m 'nightly or not nightly'
	scripts/docs

schemas:
	.venv/bin/slop-code schema --write src/slop_code/schemas
