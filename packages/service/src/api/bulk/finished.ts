import { createHash } from 'node:crypto'
import type { FileFormat } from '@priorbook/sdk/wire'
import { BoundedMap } from '../../lib/bounded-map.ts'
import type { StoreReader } from '../../store/store.ts'
import type { ApiContext, FileFacts, FinishedFile } from '../route.ts'
import { makeFile } from './file.ts'
import { describeScope, type BulkScope } from './scope.ts'

// A rebuild, retention or damage may change even a final file. What was measured is trusted this long, which is
// enough for a reader that asks for a file in many parts.
const TRUSTED_MICROS = 60_000_000
const FACTS_MAX = 1000

type Measured = FileFacts & { readonly at: number }

const MEASURED = new WeakMap<StoreReader, BoundedMap<string, Measured>>()

/** A file that gets no more rows, for requests of parts of it; undefined for any other. */
export function finishedFile(
  context: ApiContext,
  scope: BulkScope,
  format: FileFormat,
  signal: AbortSignal,
): FinishedFile | undefined {
  if (!scope.isFinal) return undefined
  const known = (): FileFacts | undefined => knownFacts(context, scope, format)
  return {
    known,
    async measure() {
      const facts = known()
      if (facts !== undefined) return facts
      const hash = createHash('sha256')
      let bytes = 0
      for await (const piece of makeFile(context, scope, format, signal)) {
        hash.update(piece)
        bytes += piece.length
      }
      signal.throwIfAborted()
      return rememberFacts(context, scope, format, { bytes, sha256: hash.digest('hex') })
    },
    part: (from, to) => cutBytes(makeFile(context, scope, format, signal), from, to),
  }
}

/** Keeps what a file was measured to be. */
export function rememberFacts(
  { store, now }: ApiContext,
  scope: BulkScope,
  format: FileFormat,
  facts: FileFacts,
): FileFacts {
  let files = MEASURED.get(store)
  if (files === undefined) MEASURED.set(store, (files = new BoundedMap(FACTS_MAX)))
  files.set(keyOf(scope, format), { ...facts, at: now() })
  return facts
}

function knownFacts(
  { store, now }: ApiContext,
  scope: BulkScope,
  format: FileFormat,
): FileFacts | undefined {
  const measured = MEASURED.get(store)?.get(keyOf(scope, format))
  return measured === undefined || now() - measured.at > TRUSTED_MICROS ? undefined : measured
}

// Everything that changes bytes: the plan too, because a family may contain markets that it does not include.
function keyOf(scope: BulkScope, format: FileFormat): string {
  const { ladders, depth, style, grant, windowStart, start, notices } = scope
  // A window that begins before the file changes nothing, and moves with every request.
  const window = windowStart >= start ? windowStart : null
  const cut = { ladders, depth, style, plan: grant.plan, window, notices }
  return JSON.stringify([format, describeScope(scope), cut])
}

/** The bytes [from, to) of a file. Those before are made too, but not sent; those after are not made. */
export async function* cutBytes(
  file: AsyncIterable<Uint8Array>,
  from: number,
  to = Infinity,
): AsyncGenerator<Uint8Array> {
  let at = 0
  for await (const piece of file) {
    const start = Math.max(0, from - at)
    const end = Math.min(piece.length, to - at)
    at += piece.length
    if (start < end) yield start === 0 && end === piece.length ? piece : piece.subarray(start, end)
    if (at >= to) return
  }
  // The head promised more: only a cut connection can tell.
  if (Number.isFinite(to)) throw new Error(`the file ended at ${at} instead of ${to} bytes`)
}
