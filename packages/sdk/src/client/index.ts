/** The client: the whole interface, typed, for Node, Deno, Bun and browsers. */
export type { RetryPolicy } from './backoff.ts'
export * from './client.ts'
export type { Download, DownloadOptions } from './download.ts'
export * from './errors.ts'
export {
  parseEnvelope,
  type Answer,
  type Envelope,
  type RawAnswer,
  type RetryEvent,
} from './http.ts'
export type {
  ContractSubscription,
  DisconnectedMessage,
  HoleMessage,
  LiveMessage,
  LiveOptions,
  LiveSubscription,
  MarketSubscription,
  ReferenceSubscription,
} from './live.ts'
export type { MarketRef } from './caller.ts'
export { MarketClient } from './market.ts'
export * from './order-book.ts'
export * from './params.ts'
export { differenceOf, ReceivedRows } from './receipt.ts'
export type {
  AuditJson,
  BookRowJson,
  CategoryJson,
  CaptureJson,
  ChangesRowJson,
  ConsolidatedJson,
  ContractBooksJson,
  ContractJson,
  ContractSnapshotJson,
  ContractWithTermsJson,
  CoverageJson,
  EventJson,
  EventMarketJson,
  EventSumsJson,
  EventWithMarketsJson,
  ExecutionJson,
  FileReceiptJson,
  FullBookRowJson,
  InstrumentReceiptJson,
  LadderJson,
  LeadLagJson,
  LimitsJson,
  ListedMarketJson,
  ManifestFileJson,
  ManifestJson,
  MetaJson,
  NoticeJson,
  PanelRowJson,
  ReceiptJson,
  RevisionJson,
  SpreadJson,
  StatusJson,
  UsageJson,
  WhoamiJson,
} from '../wire/index.ts'
export {
  PriorbookStreamError,
  type SocketEnd,
  type SocketOptions,
  type StreamFault,
  type StreamSocket,
  type Welcome,
} from './socket.ts'
export type { ReplayMessage, SocketReplay, SocketReplayParams } from './socket-replay.ts'
export { Walk, type Page, type WalkOptions } from './walk.ts'
