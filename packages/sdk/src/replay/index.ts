/** Replay: recorded events of any markets, merged in the order in which they were received. */
export * from './error.ts'
export type {
  BookEvent,
  EventSink,
  MarketEvent,
  ReplayBatch,
  ReplayEvent,
  ReplayGapEvent,
  ReplayInstrument,
  ReferenceEvent,
  SampleEvent,
  TradeEvent,
} from './event.ts'
export * from './message-replay.ts'
export { FrameReader, type Frame, type FrameLetter } from './read-tape.ts'
export { replay, type Replay, type ReplayOptions } from './replay.ts'
export {
  downloadSource,
  urlSource,
  type ByteStore,
  type DownloadClient,
  type FileSource,
  type ReplayPlatform,
  type ReplaySource,
  type RunningSum,
  type Spool,
  type StreamSource,
  type UrlSourceOptions,
} from './source.ts'
