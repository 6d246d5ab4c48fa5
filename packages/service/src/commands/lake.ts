import {
  flagOption,
  parsedOption,
  printCount,
  textOption,
  UsageError,
  wholeOption,
  wordOption,
} from '@priorbook/sdk/command-line'
import { parseMicros, printMicros, VENUE_IDS, type Micros } from '@priorbook/sdk/domain'
import { lockLake, type LakeLock } from '../lake/lake-lock.ts'
import { writeLake } from '../lake/write-lake.ts'
import { openObjects } from '../objects/open-objects.ts'
import { reachedFact } from '../recorder/batch.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { defineCommand, print } from './command.ts'

const PART_ROWS = 2_000_000

/** `priorbook-server lake` */
export const lakeCommand = defineCommand({
  name: 'lake',
  args: '',
  mostArgs: 0,
  about:
    'Writes the days that are over as Parquet files by venue, dataset and day to a bucket or a folder, each exactly once; run it again to add new days.',
  options: {
    to: textOption('ADDRESS', 'Where to: s3://BUCKET/PREFIX or a folder.'),
    venue: wordOption(VENUE_IDS, 'Only this venue.', { value: 'VENUE' }),
    day: parsedOption('Only this day, such as 2026-08-11.', { value: 'DAY' }, parseDay),
    rewrite: flagOption('Make days again that are there, such as after a rebuild.'),
    iceberg: flagOption('Make an Iceberg table of each dataset, and add days to it.'),
    'part-rows': wholeOption(1e9, 'Rows per file, about; 2000000 by default.', { value: 'N' }),
  },
  examples: [
    'priorbook-server lake --to s3://archive/lake --data data',
    'priorbook-server lake --to /mnt/lake --data data',
    'priorbook-server lake --to /mnt/lake --iceberg --data data',
    'priorbook-server lake --to /mnt/lake --day 2026-08-11 --rewrite --data data',
  ],
  async run(context) {
    const { data, options, io, isJson } = context
    if (options.to === undefined) throw new UsageError('name where to with --to')
    const objects = openObjects(options.to, process.env)
    const store = openEmbeddedStore({ file: data.tape, readOnly: true })
    let lock: LakeLock | undefined
    try {
      lock = await lockLake(objects)
      const report = await writeLake({
        store,
        objects,
        now: Date.now() * 1000,
        venue: options.venue,
        day: options.day,
        isRewritten: options.rewrite,
        partRows: options['part-rows'] ?? PART_ROWS,
        withTables: options.iceberg,
        async reached(venue) {
          // Imported recordings are complete as they are.
          const isRecorded = (await store.fact(`capture_started:${venue}`)) !== undefined
          return isRecorded ? ((await store.fact(reachedFact(venue))) ?? 0) : Infinity
        },
        check: () => lock?.check(),
        onDay({ venue, dataset, day, rows, files }, isChanged) {
          if (isJson) return
          const what = isChanged ? `${printCount(files.length)} files` : 'unchanged'
          io.note(`${venue} ${dataset} ${day}: ${printCount(rows)} rows, ${what}`)
        },
        onWait(venue, day, reached) {
          if (isJson) return
          const since =
            reached === 0 ? '' : ` since ${printMicros(reached as Micros).slice(0, 19)}Z`
          io.note(
            `${venue}: days from ${day} on wait: nothing was recorded${since}, and the recorder has yet to say what it missed. Start it, then run this again.`,
          )
        },
      })
      const { days, rows, kept, unchanged, snapshots } = report
      await print(context, { address: objects.address, ...report }, [
        `${objects.address}: ${printCount(days)} days with ${printCount(rows)} rows written, ` +
          `${printCount(kept + unchanged)} were there`,
        ...(snapshots === 0 ? [] : [`${printCount(snapshots)} snapshots of tables added`]),
      ])
    } finally {
      try {
        await lock?.release()
      } finally {
        await store.close()
      }
    }
  },
})

function parseDay(text: string): number {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return parseMicros(`${text}T00:00:00Z`)
  throw new UsageError(`--day is ${text}`, 'It is a day such as 2026-08-11.')
}
