import { existsSync, renameSync, rmSync } from 'node:fs'
import { PriorbookError } from '@priorbook/sdk/domain'
import { openTapeCopy, SCHEMA_VERSION, type TapeCopy } from '../store/embedded/shared/copy.ts'
import type { SharedTape } from './shared-tape.ts'

const COMMITS_AT_ONCE = 64

/**
 * Opens this machine's copy of the shared tape; fetches it where there is none or it is of no use. A copy
 * with commits that the shared tape lacks is kept for who may still send them (`keepsUnsent`).
 */
export async function openCopy(
  tape: SharedTape,
  file: string,
  keepsUnsent: boolean,
  onFetch: (why: string) => void,
): Promise<TapeCopy> {
  const { schema } = await tape.state()
  refuseNewer(schema)
  if (schema !== 0 && schema < SCHEMA_VERSION) {
    const detail = `${schemasOf(schema)}: upgrade the recorders first`
    throw new PriorbookError('unsupported_format', detail)
  }
  const copy = openExisting(file, onFetch)
  if (copy !== undefined) {
    let why: string | undefined
    try {
      why = await whyUseless(tape, copy, keepsUnsent, file)
    } catch (error) {
      copy.close()
      throw error
    }
    if (why === undefined) return copy
    copy.close()
    onFetch(why)
  }
  await fetchCopy(tape, file)
  return openTapeCopy(file)
}

// Undefined where there is none, or it is damaged: then it is fetched.
function openExisting(file: string, onFetch: (why: string) => void): TapeCopy | undefined {
  if (!existsSync(file)) {
    onFetch('there is none yet')
    return undefined
  }
  try {
    return openTapeCopy(file)
  } catch (error) {
    if (!(error instanceof PriorbookError) || !error.code.startsWith('corrupt_')) throw error
    onFetch(`it is damaged: ${error.message}`)
    return undefined
  }
}

async function whyUseless(
  tape: SharedTape,
  copy: TapeCopy,
  keepsUnsent: boolean,
  file: string,
): Promise<string | undefined> {
  const state = await tape.state()
  const place = copy.place()
  if (place === undefined) {
    const detail = `${file} is a tape of its own: choose another data folder, or copy it to the database first`
    throw new PriorbookError('store_refused', detail)
  }
  if (place.tape !== state.tape) return 'it is of another shared tape'
  if (copy.sent() > state.last) return 'the shared tape lost commits'
  while (copy.sent() < place.commit) {
    const commits = await tape.read({ commit: copy.sent(), mark: '' }, COMMITS_AT_ONCE)
    const isSame = commits !== undefined && copy.acknowledge(commits)
    if (!isSame) return 'another writer took over before its last commits were sent'
    if (commits.length > 0) continue
    return keepsUnsent ? undefined : 'its last commits were not sent'
  }
  return undefined
}

/** Fetches the whole tape into a file; the file is there when it is complete. */
export async function fetchCopy(tape: SharedTape, file: string): Promise<void> {
  const part = `${file}.part`
  removeTape(part)
  const copy = openTapeCopy(part)
  try {
    const { schema, ...place } = await tape.image((rows) => copy.load(rows))
    refuseNewer(schema)
    copy.loaded(place)
  } finally {
    copy.close()
  }
  removeTape(file)
  renameSync(part, file)
  removeTape(part)
}

/** Throws `newer_schema` for a shared tape that a newer build wrote. */
export function refuseNewer(schema: number): void {
  if (schema <= SCHEMA_VERSION) return
  throw new PriorbookError('newer_schema', `${schemasOf(schema)}: upgrade this`)
}

function schemasOf(schema: number): string {
  return `the shared tape has schema ${schema}, this build has ${SCHEMA_VERSION}`
}

/** Removes a tape with the files beside it. */
export function removeTape(file: string): void {
  for (const end of ['', '-wal', '-shm', '.lock']) rmSync(`${file}${end}`, { force: true })
}

/** Applies what the shared tape has more than a copy; false where the copy must be fetched again. */
export async function catchUpCopy(tape: SharedTape, copy: TapeCopy): Promise<boolean> {
  for (;;) {
    const commits = await tape.read(copy.place()!, COMMITS_AT_ONCE)
    if (commits === undefined) return false
    if (commits.length === 0) return true
    try {
      copy.apply(commits)
    } catch (error) {
      if (error instanceof PriorbookError && error.code === 'corrupt_database') return false
      throw error
    }
  }
}
