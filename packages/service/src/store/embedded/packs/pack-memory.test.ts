import { expect, test } from 'vitest'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import { Bodies } from '../bodies.ts'
import { Database } from '../database.ts'
import { readDirectory } from '../directory.ts'
import { writeSealedTape } from '../sealed-tape.testing.ts'
import { listStreams } from '../streams.ts'
import { createTapeFolder } from '../tape-folder.testing.ts'
import { Oracle } from '../tape-oracle.testing.ts'
import { packAll } from './packing-store.testing.ts'

// Packs of this tape have about 100 KB each, unpacked.
const LIMITS = [1, 400_000, 1_000_000, 1e9]

test(
  'opened packs take a share of the cache, whatever their sizes',
  { timeout: 120_000 },
  async () => {
    const tape = createTapeFolder()
    await writeSealedTape(tape.file, new Oracle())
    const writer = tape.open()
    const { packs } = await packAll(writer)
    await writer.close()
    expect(packs).toBeGreaterThan(3)
    const platform = createNodePlatform()
    const database = new Database(tape.file, true)
    try {
      const most = LIMITS.map((cacheBytes) => {
        const bodies = new Bodies(database, platform, { cacheBytes })
        const seen: number[] = []
        for (const stream of listStreams(database)) {
          for (const place of readDirectory(database, stream).places) {
            if ('lost' in place || place.form !== 'packed') continue
            expect(bodies.contentHash(stream, place)).toHaveLength(64)
            seen.push(bodies.packBytes)
          }
        }
        expect(Math.max(...seen)).toBeLessThanOrEqual(cacheBytes / 4)
        return Math.max(...seen)
      })
      const [stored] = tape.sql(
        'SELECT sum(length(bytes)) AS bytes FROM body WHERE id IN (SELECT body FROM chunk WHERE form = 3)',
      )
      // Nothing is kept that does not fit, and all of it where it does: the stored bytes and what is unpacked of them.
      expect(most[0]).toBe(0)
      expect(most[3]).toBeGreaterThan(2 * Number(stored!['bytes']))
    } finally {
      database.close()
    }
  },
)
