import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createPacker, type Encoding } from './encoding.ts'

/** How a download ended. */
export type Streamed = { readonly bytes: number; readonly isWhole: boolean }

/**
 * Sends pieces as fast as the client reads. A piece is pulled when the one before has left, so that its
 * bytes may be a view that the next one overwrites, and every piece waits for the next turn of the event
 * loop: a download that only waits for its socket makes small pages wait 143–804 ms.
 */
export async function streamBody(
  response: ServerResponse,
  body: AsyncIterable<Uint8Array>,
  encoding: Encoding,
): Promise<Streamed> {
  const packer = encoding === 'identity' ? undefined : createPacker(encoding)
  const out = packer ?? response
  let isGone = response.destroyed
  let wake = (): void => {}
  const onEnd = (): void => {
    isGone = true
    wake()
  }
  response.once('close', onEnd)
  response.once('finish', onEnd)
  packer?.pipe(response)
  packer?.once('error', () => response.destroy())
  let bytes = 0
  try {
    for await (const piece of body) {
      if (isGone) return { bytes, isWhole: false }
      await new Promise<void>((resolve) => {
        wake = resolve
        out.write(piece, () => resolve())
      })
      bytes += piece.length
      await nextTurn()
    }
    if (isGone) return { bytes, isWhole: false }
    await new Promise<void>((resolve) => {
      wake = resolve
      out.end()
    })
    return { bytes, isWhole: response.writableFinished }
  } catch (error) {
    // The status is long sent: a cut connection is the only way to say that the rest is missing.
    response.destroy()
    throw error
  } finally {
    packer?.destroy()
  }
}
