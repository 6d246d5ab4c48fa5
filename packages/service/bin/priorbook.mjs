#!/usr/bin/env node
// The command line of the SDK, for those who install the server alone. Older versions of Node must be able to read this
// file up to the check: it has no static import of what they lack, and no `await` outside of a function.
import '../../../scripts/check-node.mjs'

void import(new URL('bin/priorbook.mjs', import.meta.resolve('@priorbook/sdk/package.json')).href)
