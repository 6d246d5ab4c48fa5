import type { FileFormat } from '@priorbook/sdk/wire'
import { BoundedMap } from '../../lib/bounded-map.ts'
import type { StoreReader } from '../../store/store.ts'
import type { ApiContext, FileFacts, FinishedFile } from '../route.ts'
import { makeFile } from './file.ts'
import { KeptFiles } from './kept-files.ts'
import { describeScope, type BulkScope } from './scope.ts'
import { DEFAULT_SPACE } from './temp-space.ts'

// A rebuild, retention or damage may change even a final file. What was measured is trusted this long, which is
// enough for a reader that asks for a file in many parts.
const TRUSTED_MICROS = 60_000_000
const FACTS_MAX = 1000

type Measured = FileFacts & { readonly at: number }

const MEASURED = new WeakMap<StoreReader, BoundedMap<string, Measured>>()
const KEPT = new WeakMap<StoreReader, KeptFiles>()

/** A file that gets no more rows, for requests of parts of it; undefined for any other. */
export function finishedFile(
  context: ApiContext,
  scope: BulkScope,
  format: FileFormat,
  signal: AbortSignal,
): FinishedFile | undefined {
  if (!scope.isFinal) return undefined
  const files = keptFiles(context)
  const key = keyOf(scope, format)
  const kept = (): ReturnType<FinishedFile['kept']> => files.get(key)
  return {
    known: () => kept()?.facts ?? knownFacts(context, key),
    kept,
    keep: () => files.keep(key, () => makeFile(context, scope, format, signal), signal),
  }
}

function keptFiles({ store, now, temp = DEFAULT_SPACE }: ApiContext): KeptFiles {
  let files = KEPT.get(store)
  if (files === undefined) KEPT.set(store, (files = new KeptFiles(temp, now, TRUSTED_MICROS)))
  return files
}

/** Keeps what a file was measured to be. */
export function rememberFacts(
  { store, now }: ApiContext,
  scope: BulkScope,
  format: FileFormat,
  facts: FileFacts,
): void {
  let files = MEASURED.get(store)
  if (files === undefined) MEASURED.set(store, (files = new BoundedMap(FACTS_MAX)))
  files.set(keyOf(scope, format), { ...facts, at: now() })
}

function knownFacts({ store, now }: ApiContext, key: string): FileFacts | undefined {
  const measured = MEASURED.get(store)?.get(key)
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

/** The bytes of a file from `from` on. Those before are made too, but not sent. */
export async function* skipBytes(
  file: AsyncIterable<Uint8Array>,
  from: number,
): AsyncGenerator<Uint8Array> {
  let at = 0
  for await (const piece of file) {
    const start = Math.max(0, from - at)
    at += piece.length
    if (start < piece.length) yield start === 0 ? piece : piece.subarray(start)
  }
}
