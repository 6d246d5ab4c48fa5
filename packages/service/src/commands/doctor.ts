import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import {
  printBytes as size,
  printCount as count,
  textOption,
  UsageError,
} from '@priorbook/sdk/command-line'
import {
  isMarketState,
  PriorbookError,
  printMicros,
  VENUE_IDS,
  type GapReason,
  type Micros,
} from '@priorbook/sdk/domain'
import { printSampleValue } from '@priorbook/sdk/tape'
import type { Config } from '../config/index.ts'
import { readJournalEnds, type JournalEnd } from '../derive/journal-end.ts'
import type { DataFolder } from '../lib/data-folder.ts'
import { explainAlert } from '../ops/alert-files.ts'
import { ALERTS, type Alert } from '../ops/alerts.ts'
import { reachedFact } from '../recorder/batch.ts'
import { openObjects } from '../objects/open-objects.ts'
import { readByteKinds } from '../retention/byte-kinds.ts'
import { Keeper } from '../retention/keeper.ts'
import { openEmbeddedStore, probeWriter, type EmbeddedStore } from '../store/embedded/open.ts'
import { defineCommand, print } from './command.ts'
import { CONFIG_OPTION, readConfig } from './command-config.ts'
import type { Finding } from './finding.ts'
import { judgeAlerts } from './judge-alerts.ts'
import { printLimit } from './retention.ts'
import { runningMetrics } from './running-service.ts'
import { tellUpgrade } from './tell-upgrade.ts'

const LOW_SPACE = 2_000_000_000
const LARGE_WAL = 128_000_000
// Venues refuse signed requests beyond such differences.
const CLOCK_SECONDS = 5

/** `priorbook-server doctor` */
export const doctorCommand = defineCommand({
  name: 'doctor',
  args: '',
  mostArgs: 0,
  about:
    'Examines a data folder and the service that records into it, and prints what is wrong and how to repair it.',
  options: {
    alert: textOption('NAME', 'Explain this alert instead, and what to do when it fires.'),
    metrics: textOption('URL', 'The metrics of the running service; by default it is found.'),
    ...CONFIG_OPTION,
  },
  examples: [
    'priorbook-server doctor --data data',
    'priorbook-server doctor --metrics http://127.0.0.1:9464/metrics',
    'priorbook-server doctor --alert PriorbookVenueStale',
  ],
  async run(context) {
    const { alert, metrics, config } = context.options
    if (alert !== undefined) {
      const found = findAlert(alert)
      await print(context, found, explainAlert(found))
      return 0
    }
    const findings: Finding[] = []
    for await (const finding of examine(context.data, readConfig(config))) findings.push(finding)
    for await (const finding of examineService(context.data, metrics)) findings.push(finding)
    await print(context, findings, findings.flatMap(toLines))
    return findings.some(({ level }) => level === 'bad') ? 1 : 0
  },
})

function toLines({ level, text, advice }: Finding): string[] {
  return [`${level.padEnd(4)}  ${text}`, ...(advice === undefined ? [] : [`      → ${advice}`])]
}

function findAlert(name: string): Alert {
  const found = ALERTS.find((alert) => alert.name.toLowerCase() === name.toLowerCase())
  if (found !== undefined) return found
  const names = ALERTS.map((alert) => alert.name).join(', ')
  throw new UsageError(`there is no alert ${name}; there are ${names}`)
}

async function* examineService(
  data: DataFolder,
  given: string | undefined,
): AsyncGenerator<Finding> {
  const metrics = given ?? runningMetrics(data)
  if (metrics !== undefined) {
    yield* judgeAlerts(metrics)
    return
  }
  const advice = 'Name its metrics with --metrics URL to see which alerts would fire.'
  yield { level: 'ok', text: 'no service is known to record into this folder now', advice }
}

async function* examine(data: DataFolder, config: Config): AsyncGenerator<Finding> {
  yield { level: 'ok', text: `Node ${process.versions.node}, SQLite ${process.versions.sqlite}` }
  if (!existsSync(data.path)) {
    const advice = 'Name another folder with --data, or begin one: priorbook-server serve.'
    yield { level: 'look', text: `${data.path} does not exist yet`, advice }
    return
  }
  yield* examineFolder(data)
  if (!existsSync(data.tape)) {
    yield existsSync(data.journal)
      ? {
          level: 'bad',
          text: `${data.path} has a journal, but no tape`,
          advice:
            'Derive the tape again: stop the recorder, and run priorbook-server rebuild --fresh.',
        }
      : {
          level: 'look',
          text: `${data.path} has neither journal nor tape`,
          advice: 'Is this the right folder? --data names another one; serve or import begin one.',
        }
    return
  }
  const wal = statSync(`${data.tape}-wal`, { throwIfNoEntry: false })?.size ?? 0
  yield wal > LARGE_WAL
    ? {
        level: 'look',
        text: `the write-ahead log has ${size(wal)}: a reader holds it back`,
        advice:
          'Find who has tape.db open for long (lsof), such as a backup that hangs, and end it; the log then shrinks by itself.',
      }
    : { level: 'ok', text: `tape ${size(statSync(data.tape).size)}, write-ahead log ${size(wal)}` }
  try {
    yield* examineTape(data, config)
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    yield { level: 'bad', text: toText(error), ...adviceFor(error, data) }
  }
}

// A database that is damaged in many places says so in many lines.
function toText({ code, message }: PriorbookError): string {
  const [first, ...more] = message.split('\n')
  return `${code}: ${first}${more.length === 0 ? '' : ` (and ${more.length} lines more)`}`
}

function adviceFor({ code }: PriorbookError, data: DataFolder): Pick<Finding, 'advice'> {
  switch (code) {
    case 'corrupt_database':
      return {
        advice: existsSync(data.journal)
          ? 'Stop the recorder, and run rebuild --fresh to derive a new tape from the journal, or restore a backup.'
          : 'There is no journal to derive a new tape from: restore a backup.',
      }
    case 'newer_schema':
      return { advice: 'A newer version wrote this folder: install that version or a later one.' }
    case 'store_unavailable':
      return { advice: 'Check that the user of this command may read the folder and its files.' }
    default:
      return { advice: `docs/reference/errors.md explains ${code}.` }
  }
}

function* examineFolder(data: DataFolder): Generator<Finding> {
  try {
    accessSync(data.path, constants.W_OK)
    yield { level: 'ok', text: `${data.path} can be written` }
  } catch {
    yield {
      level: 'bad',
      text: `${data.path} cannot be written`,
      advice:
        'The recorder needs to write here: check the owner (ls -ld), the user of the service, and whether the disk is mounted read-only (findmnt).',
    }
  }
  const { bavail, bsize } = statfsSync(data.path)
  const free = bavail * bsize
  yield free < LOW_SPACE
    ? {
        level: 'bad',
        text: `only ${size(free)} of disk are free`,
        advice:
          'Recording stops when the disk is full. Make space outside of this folder or enlarge the disk; then set retention.* to remove old data, or cold.address to move them.',
      }
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
    yield* examineClocks(store)
    yield* examineRetention(store, data, config)
    yield* examineStorage(store)
    yield* examineBytes(store, data)
    const { problems, observations, chunks } = await store.verify()
    yield problems.length === 0
      ? {
          level: 'ok',
          text: `${count(observations)} observations in ${count(chunks)} chunks are sound`,
        }
      : {
          level: 'bad',
          text: `${problems.length} problems in the tape`,
          advice:
            'See them with verify. Then stop the recorder, and mend them from the journal with rebuild --adopt; without a journal restore a backup.',
        }
    yield* examineLosses(store)
  } finally {
    await store.close()
  }
}

async function* examineLosses(store: EmbeddedStore): AsyncGenerator<Finding> {
  const open = new Map<string, number>()
  for (const venue of VENUE_IDS) {
    const { openGaps } = await store.totals(venue)
    for (const [reason, gaps] of Object.entries(openGaps)) {
      if (isMarketState(reason as GapReason)) continue
      open.set(reason, (open.get(reason) ?? 0) + gaps)
    }
  }
  const gaps = [...open.values()].reduce((sum, one) => sum + one, 0)
  if (gaps > 0) {
    const reasons = [...open].map(([reason, one]) => `${count(one)} ${reason}`).join(', ')
    yield {
      level: 'look',
      text: gaps === 1 ? '1 gap is open' : `${count(gaps)} gaps are open`,
      advice: `By reason: ${reasons}. Gaps end by themselves once the venue is recorded again; if a recorder runs and they stay, see alert PriorbookBooksMissing.`,
    }
  }
  const [quarantined] = await store.quarantine({ limit: 1 })
  if (quarantined === undefined) return
  yield {
    level: 'look',
    text: `messages are in quarantine, the first: ${quarantined.detail}`,
    advice:
      'Their bytes are kept. A newer version may read them: install it, stop the recorder, and run rebuild --adopt. See alert PriorbookQuarantine.',
  }
}

// What is compared: the newest record of a folder, the clock of the venue and the clock of this machine.
async function* examineClocks(store: EmbeddedStore): AsyncGenerator<Finding> {
  const advice =
    'Check this machine with timedatectl, and synchronize it: apt-get install chrony. See alert PriorbookClockOff.'
  for (const venue of VENUE_IDS) {
    const reached = await store.fact(reachedFact(venue))
    const ahead = reached === undefined ? 0 : reached / 1e6 - Date.now() / 1000
    if (ahead > CLOCK_SECONDS) {
      const text = `${venue}: the newest record is of ${printMicros(reached as Micros)}, ${Math.round(ahead)} s in the future: the clock of this machine is behind, or was ahead when it recorded`
      yield { level: 'bad', text, advice }
    }
    const clock = {
      venue,
      key: 'clock',
      metric: 'clock_offset_us',
      order: 'desc',
      limit: 1,
    } as const
    const { rows } = await store.samples(clock)
    if (rows.count === 0) continue
    const seconds = Number(printSampleValue(rows, 0)) / 1e6
    if (Math.abs(seconds) <= CLOCK_SECONDS) continue
    const text = `${venue}: its clock was ${Math.abs(seconds).toFixed(1)} s ${seconds > 0 ? 'ahead of' : 'behind'} ours when they were last compared`
    yield { level: 'look', text, advice }
  }
}

// A disk that is not mounted must not look like damage.
async function* examineStorage(store: EmbeddedStore): AsyncGenerator<Finding> {
  for (const address of await store.coldAddresses()) {
    const { chunks, bytes } = await store.coldCounts(address)
    const what = `${address} has ${count(chunks)} chunks of the tape, ${size(bytes)}`
    try {
      const objects = openObjects(address, process.env, false)
      const { done } = await objects.list('tape/')[Symbol.asyncIterator]().next()
      // An empty folder is where a disk was mounted.
      if (done === true) throw new PriorbookError('objects_refused', 'it is empty')
      yield { level: 'ok', text: what }
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      const advice = 'nothing is lost; mount it, or check its address and rights'
      yield { level: 'bad', text: `${what}, and cannot be read: ${error.message}: ${advice}` }
    }
  }
}

async function* examineBytes(store: EmbeddedStore, data: DataFolder): AsyncGenerator<Finding> {
  const options = { store, journalDir: data.journal, tapeFile: data.tape }
  const { bytes, bytesPerObservation } = await readByteKinds(options)
  const kinds = Object.entries(bytes).map(([kind, one]) => `${kind} ${size(one)}`)
  const each =
    bytesPerObservation === undefined ? '' : `; ${bytesPerObservation.toFixed(2)} per observation`
  yield { level: 'ok', text: `bytes: ${kinds.join(', ')}${each}` }
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
    const text = `${venue}: the journal ends at record ${count(last)}, but the tape has records up to ${count(applied)}: ${count(missing)} records cannot be derived again`
    const advice =
      'The tape still has their rows. Restore the journal files of this venue from a backup before anything is recorded or rebuilt here; without a backup take one of the tape now (backup).'
    return { level: 'bad', text, advice }
  }
  return pending > 0
    ? {
        level: 'look',
        text: `${venue}: ${count(pending)} journal records are not in the tape yet`,
        advice:
          'The next serve or import applies them; a running recorder does so within a second.',
      }
    : { level: 'ok', text: `${venue}: journal ${size(bytes)}, all ${count(last)} records applied` }
}
