/** The upstream venues on loopback, in their own wire formats, with faults on command. */
export type { QuotaUse } from './core/quota-meter.ts'
export { readTruth } from './core/truth.ts'
export type { Delivery, Truth, TruthEntry, TruthOptions } from './core/truth.ts'
export type { Book, Fill, Level, Payload, Phase } from './core/upstream.ts'
export type { RoundProposition as Proposition } from './core/upstream.ts'
export {
  startEmulator,
  type BreadthRates,
  type Emulator,
  type EmulatorOptions,
} from './emulator.ts'
export {
  FAULT_KINDS,
  parseInjection,
  type Fault,
  type FaultKind,
  type FaultTarget,
  type Injection,
} from './faults/fault.ts'
export { MALFORMED_VARIANTS, type MalformedVariant } from './faults/malform.ts'
export { randomSchedule, type ScheduledFault, type ScheduleOptions } from './faults/schedule.ts'
export { playRecording, type Playback, type PlaybackOptions } from './playback/play.ts'
export { EMULATED_VENUES, type Addresses, type EmulatedVenueId } from './venues/registry.ts'
export type { MarketRates } from './world/market.ts'
