import { PriorbookError } from '@priorbook/sdk/domain'
import {
  openEmbeddedStore,
  type EmbeddedOptions,
  type EmbeddedStore,
} from '../store/embedded/open.ts'
import { openTapeCopy, SCHEMA_VERSION } from '../store/embedded/shared/copy.ts'
import type { Lease, SharedTape } from './shared-tape.ts'
import { catchUpCopy, fetchCopy, openCopy } from './tape-copy.ts'

/** Opens this machine's copy for writing: brought up to date first, so that its commits follow the last one. */
export async function openSharedWriter(
  tape: SharedTape,
  lease: Lease,
  options: Omit<EmbeddedOptions, 'readOnly' | 'isShared'>,
  onFetch: (why: string) => void,
): Promise<EmbeddedStore> {
  const { file } = options
  const isSame = lease.before === lease.holder
  let copy = await openCopy(tape, file, isSame, onFetch)
  try {
    if (copy.sent() === copy.place()!.commit && !(await catchUpCopy(tape, copy))) {
      copy.close()
      onFetch('its last commit is only in the image any more')
      await fetchCopy(tape, file)
      copy = openTapeCopy(file)
      if (!(await catchUpCopy(tape, copy))) {
        throw new PriorbookError(
          'store_unavailable',
          'the shared tape changed while it was fetched',
        )
      }
    }
  } finally {
    copy.close()
  }
  const { schema } = await tape.state()
  if (schema !== SCHEMA_VERSION) await changeSchema(tape, lease, file, schema)
  return openEmbeddedStore({ ...options, isShared: true })
}

// Opening the copy has brought its rows to this build's schema. The shared tape gets them whole, because
// that was no commit; machines with an older build must be upgraded to follow.
async function changeSchema(
  tape: SharedTape,
  lease: Lease,
  file: string,
  before: number,
): Promise<void> {
  if (before === 0) {
    await tape.setSchema(lease, SCHEMA_VERSION)
    return
  }
  const copy = openTapeCopy(file)
  try {
    const name = `schema ${SCHEMA_VERSION} of commit ${copy.place()!.commit}`
    const source = { name, schema: SCHEMA_VERSION }
    copy.loaded(await tape.load(lease, source, copy.rows(), () => undefined))
  } finally {
    copy.close()
  }
}
