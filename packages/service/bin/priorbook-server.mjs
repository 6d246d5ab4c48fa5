#!/usr/bin/env node
// Older versions of Node must be able to read this file up to the check: it has no static import of what they lack,
// and no `await` outside of a function.
import '../../../scripts/check-node.mjs'

// Bounds V8's young generation: by default short-lived objects of an import hold 150 MB. V8 reads the size
// only when a process starts, so the process replaces itself once; its id stays the same. A recorder has a larger one:
// rows live until their batch is stored, and to copy those of whole venues many times a second took a fifth of its time.
const YOUNG_GENERATION = '--max-semi-space-size'
const YOUNG_MB = process.argv[2] !== 'serve' ? 4 : isOnlyRecorder() ? 64 : 16
// The GNU allocator keeps freed buffers in pieces of its heap, and the more the larger they were: a recorder grew
// by 100 MB in ten minutes. With fixed thresholds it returns large ones. Other allocators ignore these.
const ALLOCATOR = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
}
const isBounded = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].some((text) =>
  text.includes(YOUNG_GENERATION),
)
if (import.meta.main && !isBounded && process.platform !== 'win32') {
  process.execve(
    process.execPath,
    [
      process.execPath,
      `${YOUNG_GENERATION}=${YOUNG_MB}`,
      ...process.execArgv,
      ...process.argv.slice(1),
    ],
    { ...ALLOCATOR, ...process.env },
  )
}

// What a server records, its keys and its backups are for its own user: files 0600, folders 0700.
process.umask(0o077)

void import('../../../scripts/compile-cache.mjs')
  .then(() => import('../src/main.ts'))
  .then(({ main }) => main(process.argv.slice(2)))
  .then((status) => {
    process.exitCode = status
  })

// As the settings read it: the last of several counts. One in a file is not known yet, and costs a few percent of a core.
function isOnlyRecorder() {
  const args = process.argv.slice(3).join(' ')
  const role = [...args.matchAll(/--role[ =](\S+)/g)].at(-1)?.[1] ?? process.env['PRIORBOOK_ROLE']
  return role === 'capture'
}
