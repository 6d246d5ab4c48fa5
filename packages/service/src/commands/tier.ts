import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { printBytes, printCount, textOption, UsageError } from '@priorbook/sdk/command-line'
import { VENUE_IDS } from '@priorbook/sdk/domain'
import { listSegments } from '@priorbook/sdk/journal/format'
import { parseAmount } from '../config/retention.ts'
import { knowsAddress } from '../journal/index.ts'
import { ColdMover } from '../retention/cold-mover.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { defineCommand, print } from './command.ts'
import { CONFIG_OPTION, readConfig } from './command-config.ts'
import { tellUpgrade } from './tell-upgrade.ts'
import { checkTierTarget } from './tier-target.ts'

/** `priorbook-server tier` */
export const tierCommand = defineCommand({
  name: 'tier',
  args: '',
  mostArgs: 0,
  about:
    'Moves old chunks of the tape and old files of the journal to another folder, such as a large slow disk; they stay readable.',
  more:
    'What is written there is read back and its hashes are compared before it is removed here. The folder must be able to ' +
    'take all of it, and may not be the data folder. Set cold.address to it, and a running serve goes on moving.',
  options: {
    'older-than': textOption('AGE', 'Move what is older than this, such as 30d. Required.'),
    to: textOption('DIR', 'The folder. Required.'),
    ...CONFIG_OPTION,
  },
  examples: ['priorbook-server tier --older-than 30d --to /mnt/archive --data data'],
  async run(context) {
    const { data, options } = context
    const { to, 'older-than': older } = options
    if (to === undefined || older === undefined) throw new UsageError('name --older-than and --to')
    if (/^[a-z][a-z0-9+.-]+:/i.test(to)) {
      throw new UsageError('--to is a folder; for object storage use the command cold')
    }
    const given = new Map([
      ['cold.address', to],
      ['cold.after', older],
    ])
    const { cold: config } = readConfig(options.config, given)
    const before = Date.now() * 1000 - (parseAmount(config.after) ?? Infinity)
    const coldCacheBytes = config.cacheMb * 1e6
    const store = openEmbeddedStore({ file: data.tape, coldCacheBytes, onUpgrade: tellUpgrade() })
    try {
      await store.seal()
      const bytes = (await store.movableBytes(before)) + journalBytes(data.journal, before)
      const { segments } = await store.coldCounts(resolve(to))
      const isUsed = segments > 0 || knowsAddress(data.journal, resolve(to))
      checkTierTarget(to, data.path, bytes, isUsed)
      const mover = new ColdMover({ store, journalDir: data.journal, config })
      const moved = await mover.pass(true)
      const there = mover.status()!
      await print(context, { address: there.address, moved, there }, [
        `moved ${printCount(moved.chunks)} chunks in ${printCount(moved.segments)} segments, ${printBytes(moved.bytes)}`,
        `moved ${printCount(moved.journal.files)} files of the journal, ${printBytes(moved.journal.bytes)}`,
      ])
    } finally {
      await store.close()
    }
  },
})

// Files that were written to after that time stay.
function journalBytes(dir: string, before: number): number {
  const sizes = VENUE_IDS.flatMap((venue) => listSegments(dir, venue)).flatMap(
    ({ path, isAway }) => {
      const stat = isAway ? undefined : statSync(path, { throwIfNoEntry: false })
      return stat === undefined || stat.mtimeMs * 1000 >= before ? [] : [stat.size]
    },
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}
