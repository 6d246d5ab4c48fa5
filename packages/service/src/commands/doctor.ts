import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { printBytes as size, printCount as count } from '@priorbook/sdk/command-line'
import { isMarketState, PriorbookError, VENUE_IDS, type GapReason } from '@priorbook/sdk/domain'
import type { Config } from '../config/index.ts'
import { readJournalEnds, type JournalEnd } from '../derive/journal-end.ts'
import type { DataFolder } from '../lib/data-folder.ts'
import { Keeper } from '../retention/keeper.ts'
import { openEmbeddedStore, probeWriter, type EmbeddedStore } from '../store/embedded/open.ts'
import { defineCommand, print } from './command.ts'
import { CONFIG_OPTION, readConfig } from './command-config.ts'
import { printLimit } from './retention.ts'
import { tellUpgrade } from './tell-upgrade.ts'

type Finding = { readonly level: 'ok' | 'look' | 'bad'; readonly text: string }

const LOW_SPACE = 2_000_000_000
const LARGE_WAL = 128_000_000

/** `priorbook-server doctor` */
export const doctorCommand = defineCommand({
  name: 'doctor',
  args: '',
  mostArgs: 0,
  about: 'Examines a data folder and prints what is wrong with it and how to repair it.',
  options: { ...CONFIG_OPTION },
  examples: ['priorbook-server doctor --data data'],
  async run(context) {
    const findings: Finding[] = []
    for await (const finding of examine(context.data, readConfig(context.options.config)))
      findings.push(finding)
    await print(
      context,
      findings,
      findings.map(({ level, text }) => `${level.padEnd(4)}  ${text}`),
    )
    return findings.some(({ level }) => level === 'bad') ? 1 : 0
  },
})

async function* examine(data: DataFolder, config: Config): AsyncGenerator<Finding> {
  yield { level: 'ok', text: `Node ${process.versions.node}, SQLite ${process.versions.sqlite}` }
  if (!existsSync(data.path)) {
    yield { level: 'look', text: `${data.path} does not exist yet: import or record something` }
    return
  }
  yield* examineFolder(data)
  if (!existsSync(data.tape)) {
    yield { level: 'look', text: `no tape in ${data.path}: if there is a journal, run rebuild` }
    return
  }
  const wal = statSync(`${data.tape}-wal`, { throwIfNoEntry: false })?.size ?? 0
  yield wal > LARGE_WAL
    ? { level: 'look', text: `the write-ahead log has ${size(wal)}: a reader holds it back` }
    : { level: 'ok', text: `tape ${size(statSync(data.tape).size)}, write-ahead log ${size(wal)}` }
  try {
    yield* examineTape(data, config)
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    const advice =
      error.code === 'corrupt_database'
        ? ': run rebuild --fresh to derive a new tape from the journal, or restore a backup'
        : ''
    yield { level: 'bad', text: `${error.code}: ${error.message}${advice}` }
  }
}

function* examineFolder(data: DataFolder): Generator<Finding> {
  try {
    accessSync(data.path, constants.W_OK)
    yield { level: 'ok', text: `${data.path} can be written` }
  } catch {
    yield { level: 'bad', text: `${data.path} cannot be written: check owner and mount` }
  }
  const { bavail, bsize } = statfsSync(data.path)
  const free = bavail * bsize
  yield free < LOW_SPACE
    ? { level: 'bad', text: `only ${size(free)} of disk are free` }
    : { level: 'ok', text: `${size(free)} of disk are free` }
  const refusal = probeWriter(data.tape)
  yield {
    level: 'ok',
    text:
      refusal === undefined
        ? 'no process writes here now'
        : `a process writes here now (${refusal})`,
  }
}

async function* examineTape(data: DataFolder, config: Config): AsyncGenerator<Finding> {
  const store = openEmbeddedStore({
    file: data.tape,
    readOnly: true,
    mayBeFixed: true,
    onUpgrade: tellUpgrade(),
  })
  try {
    for (const end of await readJournalEnds(store, data)) yield judgeEnd(end)
    yield* examineRetention(store, data, config)
    const { problems, observations, chunks } = await store.verify()
    yield problems.length === 0
      ? {
          level: 'ok',
          text: `${count(observations)} observations in ${count(chunks)} chunks are sound`,
        }
      : {
          level: 'bad',
          text: `${problems.length} problems: run verify to see them, rebuild --adopt to mend them from the journal`,
        }
    const totals = await Promise.all(VENUE_IDS.map((venue) => store.totals(venue)))
    const open = totals
      .flatMap(({ openGaps }) => Object.entries(openGaps))
      .filter(([reason]) => !isMarketState(reason as GapReason))
      .reduce((sum, [, one]) => sum + one, 0)
    if (open > 0) {
      yield { level: 'look', text: open === 1 ? '1 gap is open' : `${count(open)} gaps are open` }
    }
    const quarantined = await store.quarantine({ limit: 1 })
    if (quarantined.length > 0) {
      yield {
        level: 'look',
        text: `messages are in quarantine, the first: ${quarantined[0]!.detail}`,
      }
    }
  } finally {
    await store.close()
  }
}

// What a dry run would remove is normal up to a part of what is kept: a running recorder removes it soon.
async function* examineRetention(
  store: EmbeddedStore,
  data: DataFolder,
  config: Config,
): AsyncGenerator<Finding> {
  const keeper = new Keeper({ store, journalDir: data.journal, config, isDryRun: true })
  if (!keeper.hasLimits) {
    yield { level: 'ok', text: 'no retention limit is set: everything stays' }
    return
  }
  await keeper.pass()
  for (const { venue, tier, limit, keptBytes, removedBytes } of keeper.status()) {
    const kept = `${venue}: ${tier} within ${printLimit(limit)}: ${size(keptBytes)}`
    yield removedBytes > keptBytes
      ? {
          level: 'look',
          text: `${kept}, and ${size(removedBytes)} beyond it: run retention, or serve`,
        }
      : { level: 'ok', text: kept }
  }
}

function judgeEnd({ venue, bytes, last, applied, missing, pending }: JournalEnd): Finding {
  if (missing > 0) {
    const text = `${venue}: the journal ends at record ${count(last)}, but the tape has records up to ${count(applied)}: restore the journal from a backup, because ${count(missing)} records cannot be derived again`
    return { level: 'bad', text }
  }
  return pending > 0
    ? {
        level: 'look',
        text: `${venue}: ${count(pending)} journal records are not in the tape yet: the next import or serve applies them`,
      }
    : { level: 'ok', text: `${venue}: journal ${size(bytes)}, all ${count(last)} records applied` }
}
