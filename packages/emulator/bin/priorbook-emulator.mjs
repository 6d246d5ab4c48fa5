#!/usr/bin/env node
// Older versions of Node must be able to read this file up to the check: it has no static import of what they lack,
// and no `await` outside of a function.
import '../../../scripts/check-node.mjs'

void import('../../../scripts/compile-cache.mjs')
  .then(() => import('../src/main.ts'))
  .then(({ main }) => main(process.argv.slice(2)))
  .then((status) => {
    process.exitCode = status
  })
