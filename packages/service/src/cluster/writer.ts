import { existsSync } from 'node:fs'
import { PriorbookError } from '@priorbook/sdk/domain'
import {
  openEmbeddedStore,
  type EmbeddedOptions,
  type EmbeddedStore,
} from '../store/embedded/open.ts'
import { openTapeCopy, SCHEMA_VERSION } from '../store/embedded/shared/copy.ts'
import type { Lease, SharedTape } from './shared-tape.ts'
import { catchUpCopy, fetchCopy, openCopy, refuseNewer } from './tape-copy.ts'

/** Opens this machine's copy for writing: brought up to date first, so that its commits follow the last one. */
export async function openSharedWriter(
  tape: SharedTape,
  lease: Lease,
  options: Omit<EmbeddedOptions, 'readOnly' | 'isShared'>,
  onFetch: (why: string) => void,
): Promise<EmbeddedStore> {
  const { file } = options
  const { schema, loading } = await tape.state()
  if (loading || (schema !== 0 && schema !== SCHEMA_VERSION)) {
    await loadAgain(tape, lease, file, onFetch)
  } else if (schema === 0) await tape.setSchema(lease, SCHEMA_VERSION)
  await bringUpToDate(tape, file, onFetch)
  try {
    return openEmbeddedStore({ ...options, isShared: true })
  } catch (error) {
    if (!(error instanceof PriorbookError) || !error.code.startsWith('corrupt_')) throw error
    // The disk of this machine is damaged, not the tape. What it had not sent is in its journal.
    onFetch(`it is damaged: ${error.message}`)
    await fetchCopy(tape, file)
    await bringUpToDate(tape, file, onFetch)
    return openEmbeddedStore({ ...options, isShared: true })
  }
}

async function bringUpToDate(
  tape: SharedTape,
  file: string,
  onFetch: (why: string) => void,
): Promise<void> {
  for (let attempt = 0; attempt < 3; attempt++) {
    const copy = await openCopy(tape, file, true, onFetch)
    try {
      // A copy with commits to send ends where the shared tape does, and beyond.
      if (copy.sent() < copy.place()!.commit || (await catchUpCopy(tape, copy))) return
    } finally {
      copy.close()
    }
    onFetch('its last commit is only in the image any more')
    await fetchCopy(tape, file)
  }
  throw new PriorbookError('store_unavailable', 'the shared tape changed while it was fetched')
}

// Opening the copy brings its rows to this build's schema. The shared tape gets them whole, because that was
// no commit; machines with an older build must be upgraded to follow. So does one whose loading was cut short.
async function loadAgain(
  tape: SharedTape,
  lease: Lease,
  file: string,
  onFetch: (why: string) => void,
): Promise<void> {
  const { tape: name, last, loading, schema } = await tape.state()
  refuseNewer(schema)
  if (!isCurrent(file, name, last)) {
    if (loading) throw new PriorbookError('store_unavailable', INTERRUPTED)
    onFetch('its rows are brought to a newer schema')
    await fetchCopy(tape, file)
  }
  const copy = openTapeCopy(file)
  try {
    if (!loading && !(await catchUpCopy(tape, copy))) {
      throw new PriorbookError('store_unavailable', 'the shared tape changed while it was fetched')
    }
    // Other machines read what is loaded at once. A fetched copy has the lists of the older schema, and its
    // word that they are complete.
    if (!loading) copy.recount()
    const source = { name: copy.fingerprint(), schema: SCHEMA_VERSION }
    copy.loaded(await tape.load(lease, source, copy.rows(), () => undefined))
  } finally {
    copy.close()
  }
}

const INTERRUPTED =
  'a tape was being copied into the database and did not come to its end: copy it again, or start the recorder that wrote last'

/** True where a file is a copy that has everything that the shared tape has. */
export function isCurrent(file: string, tape: string, last: number): boolean {
  if (!existsSync(file)) return false
  const copy = openTapeCopy(file)
  try {
    const place = copy.place()
    return place?.tape === tape && place.commit === last && copy.sent() === last
  } finally {
    copy.close()
  }
}
