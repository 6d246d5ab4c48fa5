import { createClient } from '@priorbook/sdk/client'
import { toTrouble } from '../app/trouble.ts'
import { ReplayBooks, type ReplayChanges } from './replay-books.ts'
import type { ReplayAnswer, ReplayRequest } from './replay-feed.ts'

// Thousands of rows per second are parsed and applied here without blocking a frame of the page.
addEventListener('message', ({ data, ports: [port] }: MessageEvent<ReplayRequest>) => {
  if (port !== undefined) void serve(data, port)
})

async function serve({ key, params }: ReplayRequest, port: MessagePort): Promise<void> {
  const stopping = new AbortController()
  const books = new ReplayBooks()
  let isRequested = false
  const send = (answer: ReplayAnswer, transfer: Transferable[] = []): void => {
    isRequested = false
    port.postMessage(answer, transfer)
  }
  const answer = (): void => {
    const changes = isRequested ? books.changes() : undefined
    if (changes !== undefined) send({ type: 'changes', changes }, buffersOf(changes))
  }
  port.addEventListener('message', ({ data: word }: MessageEvent<'next' | 'stop'>) => {
    if (word === 'stop') {
      stopping.abort()
      port.close()
      return
    }
    isRequested = true
    answer()
  })
  port.start()
  try {
    const client = createClient({
      url: location.origin,
      ...(key === undefined ? { demo: true } : { key }),
    })
    for await (const message of client.socketReplay(params, { signal: stopping.signal })) {
      books.apply(message)
      answer()
    }
    isRequested = true
    answer()
    send({ type: 'ended' })
  } catch (error) {
    send({ type: 'failed', trouble: toTrouble(error) })
  }
}

function buffersOf({ books }: ReplayChanges): Transferable[] {
  return books.flatMap(([, book]) =>
    book === undefined
      ? []
      : [book.bids, book.asks].flatMap(({ ticks, units }) => [ticks.buffer, units.buffer]),
  )
}
