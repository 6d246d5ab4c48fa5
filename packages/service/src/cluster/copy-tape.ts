import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { PriorbookError } from '@priorbook/sdk/domain'
import { openTapeCopy, SCHEMA_VERSION, type CopyPlace } from '../store/embedded/shared/copy.ts'
import { LEASE_MS, LeaseKeeper } from './lease-keeper.ts'
import { SharedTape } from './shared-tape.ts'
import { catchUpCopy, fetchCopy } from './tape-copy.ts'

/**
 * Copies the tape of a file into the database, which must be empty unless an earlier copy of the same tape
 * was stopped: then it goes on from there. The file is a copy of the shared tape afterwards.
 */
export async function copyToDatabase(
  address: string,
  file: string,
  onPart: (done: number) => void,
): Promise<CopyPlace> {
  if (!existsSync(file)) throw new PriorbookError('store_unavailable', `${file} does not exist`)
  const tape = new SharedTape(address)
  const copy = openTapeCopy(file)
  try {
    if (copy.place() !== undefined) {
      throw new PriorbookError('store_refused', `${file} is a copy of a shared tape already`)
    }
    await tape.prepare()
    const { last, holder, leaseMs } = await tape.state()
    const name = `copy@${hostname()}:${file}`
    if (last > 0 || (leaseMs > 0 && holder !== name)) {
      throw new PriorbookError(
        'store_refused',
        'the database has a tape already: choose an empty one',
      )
    }
    const lease = await tape.take(name, LEASE_MS)
    if (lease === undefined) throw new PriorbookError('not_writer', 'another process writes there')
    const keeper = new LeaseKeeper(tape, lease)
    try {
      // What an earlier attempt loaded is of use only if the tape is still the same.
      const source = { name: copy.fingerprint(), schema: SCHEMA_VERSION }
      const place = await tape.load(lease, source, copy.rows(), onPart)
      copy.loaded(place)
      return place
    } finally {
      await keeper.stop()
      await tape.release(lease).catch(() => undefined)
    }
  } finally {
    copy.close()
    await tape.close()
  }
}

/** Copies the shared tape into a new file, which is a tape of its own afterwards. */
export async function copyFromDatabase(address: string, file: string): Promise<number> {
  if (existsSync(file)) {
    throw new PriorbookError('store_refused', `${file} exists: choose a new data folder`)
  }
  const tape = new SharedTape(address)
  try {
    await tape.prepare()
    await fetchCopy(tape, file)
    const copy = openTapeCopy(file)
    try {
      if (!(await catchUpCopy(tape, copy))) {
        throw new PriorbookError(
          'store_unavailable',
          'the shared tape changed meanwhile: try again',
        )
      }
      const { commit } = copy.place()!
      copy.detach()
      return commit
    } finally {
      copy.close()
    }
  } finally {
    await tape.close()
  }
}
