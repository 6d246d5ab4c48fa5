import {
  flagOption,
  layTable,
  printBytes,
  printCount,
  printSpan,
} from '@priorbook/sdk/command-line'
import { Keeper, type TierState } from '../retention/keeper.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { defineCommand, print } from './command.ts'
import { CONFIG_OPTION, readConfig } from './command-config.ts'

/** `priorbook-server retention` */
export const retentionCommand = defineCommand({
  name: 'retention',
  args: '',
  mostArgs: 0,
  about:
    'Removes what the retention settings no longer keep of tape, journal, quarantine and market records; a running serve does the same in the background.',
  options: {
    'dry-run': flagOption('Print what would go, and remove nothing.'),
    ...CONFIG_OPTION,
  },
  examples: [
    'priorbook-server retention --dry-run --data data',
    'PRIORBOOK_RETENTION_TAPE_AGE=90d priorbook-server retention --data data',
  ],
  async run(context) {
    const { data, options } = context
    const isDryRun = options['dry-run']
    const config = readConfig(options.config)
    const store = openEmbeddedStore({ file: data.tape, readOnly: isDryRun })
    try {
      if (!isDryRun) await store.seal()
      const keeper = new Keeper({ store, journalDir: data.journal, config, isDryRun })
      await keeper.pass()
      // Trades and samples follow the book of their key, and records of markets their rows.
      for (const _again of isDryRun ? [] : [1, 2]) {
        await store.seal()
        await keeper.pass()
      }
      const tiers = keeper.status()
      await print(
        context,
        { dry_run: isDryRun, tiers: tiers.map(toJson) },
        toLines(tiers, isDryRun),
      )
    } finally {
      await store.close()
    }
  },
})

function toJson({ venue, tier, limit, keptBytes, removedBytes, removedRows }: TierState): object {
  return {
    venue,
    tier,
    limit_seconds: limit.ageMicros === undefined ? null : limit.ageMicros / 1e6,
    limit_bytes: limit.bytes ?? null,
    kept_bytes: keptBytes,
    removed_bytes: removedBytes,
    removed_rows: removedRows,
  }
}

function toLines(tiers: readonly TierState[], isDryRun: boolean): string[] {
  if (tiers.length === 0) {
    return ['no limit is set: everything stays (settings retention.* in the configuration)']
  }
  const heads = ['venue', 'what', 'limit', isDryRun ? 'would go' : 'went', 'rows', 'stays']
  const columns = heads.map((head, index) => ({ head, right: index > 2 }))
  const rows = tiers.map(({ venue, tier, limit, keptBytes, removedBytes, removedRows }) => [
    venue,
    tier,
    printLimit(limit),
    printBytes(removedBytes),
    printCount(removedRows),
    printBytes(keptBytes),
  ])
  return layTable(columns, rows)
}

/** A limit in words. */
export function printLimit({ ageMicros, bytes }: TierState['limit']): string {
  const age = ageMicros === undefined ? [] : [printSpan(ageMicros / 1e3)]
  return [...age, ...(bytes === undefined ? [] : [printBytes(bytes)])].join(', ')
}
