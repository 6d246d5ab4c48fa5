import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { RunningSha256 } from './running-sha256.ts'

it('is SHA-256, put down and taken up again anywhere', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 8 }), (pieces) => {
      let hash = RunningSha256.create()
      for (const piece of pieces) {
        hash.update(piece, 0, piece.length)
        hash = RunningSha256.fromText(hash.toText())
      }
      const whole = createHash('sha256').update(Buffer.concat(pieces)).digest('hex')
      expect(hash.digest()).toBe(whole)
    }),
    { numRuns: 300, seed: 1 },
  )
})
