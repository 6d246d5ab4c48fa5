import type { Writable } from 'node:stream'
import { expect, it } from 'vitest'
import * as ws from 'ws'
import { toFrame } from './frame.ts'

// The library's own reader, which its types leave out.
const { Receiver } = ws as unknown as {
  Receiver: new (options: { isServer: boolean }) => Writable
}

it('frames of every length are read by a WebSocket library', async () => {
  for (const length of [0, 1, 125, 126, 127, 65_535, 65_536, 200_000]) {
    const text = 'é'.repeat(Math.floor(length / 2)) + 'x'.repeat(length % 2)
    const receiver = new Receiver({ isServer: false })
    const got = new Promise<[Buffer, boolean]>((resolve) => {
      receiver.on('message', (data: Buffer, isBinary: boolean) => resolve([data, isBinary]))
    })
    receiver.write(toFrame(text.slice(0, 10), Buffer.from(text.slice(10))))
    const [data, isBinary] = await got
    expect([data.length, isBinary, data.toString() === text]).toEqual([length, false, true])
  }
})
