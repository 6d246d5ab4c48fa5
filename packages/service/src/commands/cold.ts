import {
  flagOption,
  printBytes,
  printCount,
  textOption,
  UsageError,
} from '@priorbook/sdk/command-line'
import { findAwayAt } from '../retention/away-finder.ts'
import { ColdMover } from '../retention/cold-mover.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { defineCommand, print } from './command.ts'
import { CONFIG_OPTION, readConfig } from './command-config.ts'
import { tellUpgrade } from './tell-upgrade.ts'

/** `priorbook-server cold` */
export const coldCommand = defineCommand({
  name: 'cold',
  args: '',
  mostArgs: 0,
  about:
    'Moves old chunks of the tape and old files of the journal to a bucket or a folder, checks them there and removes them here; they stay readable. A running serve does the same in the background.',
  options: {
    to: textOption('ADDRESS', 'Where to: s3://BUCKET/PREFIX or a folder; cold.address by default.'),
    find: flagOption('Only look for files of the journal there that this folder does not know of.'),
    older: textOption('AGE', 'Move what is older than this, such as 12h; cold.after by default.'),
    ...CONFIG_OPTION,
  },
  examples: [
    'priorbook-server cold --to s3://archive/priorbook --older 7d --data data',
    'priorbook-server cold --to /mnt/archive --data data',
    'priorbook-server cold --find --to s3://archive/priorbook --data data',
  ],
  async run(context) {
    const { data, options } = context
    const given = new Map<string, string>()
    if (options.to !== undefined) given.set('cold.address', options.to)
    if (options.older !== undefined) given.set('cold.after', options.older)
    const { cold: config } = readConfig(options.config, given)
    if (config.address === '') {
      throw new UsageError('name where to with --to, or set cold.address in the configuration')
    }
    const coldCacheBytes = config.cacheMb * 1e6
    const store = openEmbeddedStore({ file: data.tape, coldCacheBytes, onUpgrade: tellUpgrade() })
    try {
      if (options.find) {
        const files = await findAwayAt(data.journal, config.address)
        const { found, skipped } = files
        await print(context, { address: config.address, ...files }, [
          `found ${printCount(found)} files of the journal that were not known here`,
          ...(skipped === 0
            ? []
            : [`passed over ${printCount(skipped)}: of records that are here, or damaged`]),
        ])
        return
      }
      await store.seal()
      const mover = new ColdMover({ store, journalDir: data.journal, config })
      const moved = await mover.pass(true)
      const there = mover.status()!
      await print(context, { address: config.address, moved, there }, [
        `moved ${printCount(moved.chunks)} chunks in ${printCount(moved.segments)} segments, ${printBytes(moved.bytes)}`,
        `moved ${printCount(moved.journal.files)} files of the journal, ${printBytes(moved.journal.bytes)}`,
        `in other storage: ${printCount(there.chunks)} chunks in ${printCount(there.segments)} segments, ${printBytes(there.bytes)}; ${printCount(there.journal.files)} files of the journal, ${printBytes(there.journal.bytes)}`,
      ])
    } finally {
      await store.close()
    }
  },
})
