import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

let scratch: string | undefined

/**
 * Before any test: a folder for what is made once and used by several files, named by
 * `PRIORBOOK_TEST_SCRATCH`, and the compile cache of the programs for every process that a test starts.
 */
export function setup(): void {
  // Once for all projects.
  if (process.env['PRIORBOOK_TEST_SCRATCH'] !== undefined) return
  scratch = mkdtempSync(join(tmpdir(), 'priorbook-shared-'))
  process.env['PRIORBOOK_TEST_SCRATCH'] = scratch
  process.env['NODE_COMPILE_CACHE'] ??= join(
    import.meta.dirname,
    '../node_modules/.cache/priorbook',
  )
}

/** After all of them. */
export function teardown(): void {
  if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true })
}
