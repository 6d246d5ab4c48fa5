import { SocketReaders, type ReadersJob } from './socket-readers.ts'

/** What the parent may ask of the process of the readers. */
export type ReadersRequest =
  | { readonly do: 'open'; readonly job: ReadersJob }
  | { readonly do: 'reach'; readonly total: number }
  | { readonly do: 'startTiming' | 'stopTiming' | 'wakeStalled' | 'sample' | 'close' }

let readers: SocketReaders | undefined

process.on('message', (request: ReadersRequest) => {
  answer(request).then(
    (result) => process.send!({ result }),
    (error: unknown) => process.send!({ error: String(error) }),
  )
})

async function answer(request: ReadersRequest): Promise<unknown> {
  switch (request.do) {
    case 'open':
      readers = await SocketReaders.open(request.job)
      return readers.total
    case 'reach':
      await readers!.reach(request.total)
      return readers!.total
    case 'startTiming':
      return readers!.startTiming()
    case 'stopTiming':
      return readers!.stopTiming()
    case 'wakeStalled':
      return readers!.wakeStalled()
    case 'sample':
      return readers!.sample
    case 'close':
      return readers!.close()
  }
}
