import { existsSync } from 'node:fs'
import {
  flagOption,
  printBytes,
  printCount,
  printLines,
  UsageError,
  textOption,
  wordOption,
} from '@priorbook/sdk/command-line'
import { PriorbookError, printMicros, VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import type { JournalBlock } from '@priorbook/sdk/journal'
import { packJournal, readJournal, unpackJournal, type PackReport } from '../journal/index.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { defineCommand, print, type ServerContext } from './command.ts'
import { tellUpgrade } from './tell-upgrade.ts'

const OPTIONS = {
  venue: wordOption(VENUE_IDS, 'Only this venue; needed by cat.', { value: 'VENUE' }),
  newest: flagOption('With pack: the newest file too; nothing may be recorded meanwhile.'),
  from: textOption('N', 'With cat: the number of the first record.'),
  to: textOption('N', 'With cat: the number of the last record.'),
}

type Context = ServerContext<typeof OPTIONS>

/** `priorbook-server journal` */
export const journalCommand = defineCommand({
  name: 'journal',
  args: 'pack|unpack|cat',
  mostArgs: 1,
  about:
    'Packs the finished files of the journal, writes them again as they were, or prints records. A running serve packs in the background.',
  more:
    'A packed file takes the place of the original after every record was read back from it and is equal. cat prints a ' +
    'line per record: number, received time, kind, socket and the message; with --json a JSON object, whose bytes are ' +
    'in base64 where they are not UTF-8.',
  options: OPTIONS,
  examples: [
    'priorbook-server journal pack --data data',
    'priorbook-server journal cat --venue venueb --from 1 --to 20 --data data',
    'priorbook-server journal unpack --venue venuec --data data',
  ],
  async run(context) {
    const [action] = context.args
    const { path } = context.data
    if (!existsSync(path)) {
      throw new PriorbookError('store_unavailable', `${path} does not exist`)
    }
    if (action === 'cat') await cat(context)
    else if (action === 'pack') await pack(context)
    else if (action === 'unpack') await rewrite(context, 'unpacked', unpackJournal)
    else throw new UsageError('say what to do: pack, unpack or cat')
  },
})

async function pack(context: Context): Promise<void> {
  const { data, options } = context
  if (!options.newest) {
    await rewrite(context, 'packed', packJournal)
    return
  }
  // Whoever has the tape open for writing may write the newest file of the journal.
  const store = openEmbeddedStore({ file: data.tape, onUpgrade: tellUpgrade() })
  try {
    await rewrite(context, 'packed', (order) => packJournal({ ...order, withNewest: true }))
  } finally {
    await store.close()
  }
}

async function rewrite(
  context: Context,
  done: string,
  action: (order: { readonly dir: string; readonly venue: VenueId }) => Promise<PackReport>,
): Promise<void> {
  const { data, options } = context
  const sum: PackReport = { files: 0, records: 0, before: 0, after: 0, damaged: [] }
  for (const venue of options.venue === undefined ? VENUE_IDS : [options.venue]) {
    const report = await action({ dir: data.journal, venue })
    sum.files += report.files
    sum.records += report.records
    sum.before += report.before
    sum.after += report.after
    sum.damaged.push(...report.damaged)
  }
  const { files, records, before, after, damaged } = sum
  await print(context, sum, [
    `${done} ${printCount(files)} files with ${printCount(records)} records: ${printBytes(before)} → ${printBytes(after)}`,
    ...damaged.map((file) => `${file} is damaged and stays as it is`),
  ])
}

async function cat({ data, options, io, isJson }: Context): Promise<void> {
  const { venue } = options
  if (venue === undefined) throw new UsageError('name the journal with --venue')
  const from = numberOf(options.from, 1)
  const to = numberOf(options.to, Number.MAX_SAFE_INTEGER)
  for (const item of readJournal({ dir: data.journal, venue, from, to })) {
    if (item.kind === 'damage') {
      io.note(
        `${item.file}: ${item.reason} at byte ${item.offset}, from record ${item.firstMissing}`,
      )
      continue
    }
    const lines = Array.from({ length: item.count }, (_, index) => lineOf(item, index, isJson))
    await printLines(io, lines)
  }
}

// Longer than other whole numbers: a venue sends billions of messages.
function numberOf(text: string | undefined, absent: number): number {
  if (text === undefined) return absent
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new UsageError(`${text} is not the number of a record`)
}

function lineOf(block: JournalBlock, index: number, isJson: boolean): string {
  const bytes = Buffer.from(block.bytes[index]!)
  const text = bytes.toString('utf8')
  const record = {
    number: block.first + index,
    received_time: printMicros(block.received[index]!),
    kind: block.kinds[index]!,
    slot: block.slots[index]!,
  }
  if (isJson) {
    const isText = Buffer.from(text, 'utf8').equals(bytes)
    const body = isText ? { text } : { base64: bytes.toString('base64') }
    return JSON.stringify({ ...record, ...body })
  }
  return `${record.number} ${record.received_time} ${record.kind} ${record.slot} ${text}`
}
