import type { MarketStyle } from '../world/families.ts'
import type { CreateUpstream, Refusal, UpstreamAnswer, UpstreamCredentials } from './upstream.ts'

/** One emulated venue: everything that the emulator knows of it. */
export type EmulatedVenue = {
  readonly create: CreateUpstream
  /** Uses given credentials or creates new ones: the upstream's half and the client's half. */
  keys(seed: string, given: UpstreamCredentials | undefined): KeyPair
  /** Where clients connect, by name, given `http://127.0.0.1:PORT`. */
  addresses(origin: string): UpstreamCredentials
  /** How the venue refuses a request. */
  readonly refusal: (why: Refusal) => UpstreamAnswer
  readonly socket: SocketProtocol
  readonly style: MarketStyle
  /** The finest step of prices that its markets may have, by option; absent: the tick. */
  readonly finestGrain?: number
}

/** The upstream's half of a client's credentials, and the client's half. */
type KeyPair = { readonly upstream: UpstreamCredentials; readonly client: UpstreamCredentials }

/** A venue's socket protocol beside its data, for playback: its replies, and what starts the data. */
export type SocketProtocol = {
  readonly path: string
  /** True for the client's text that starts the data; absent where the connection itself does. */
  begins?(text: string): boolean
  /** Replies to a text of the client; a recorded `seq` does not count them. */
  replies(text: string): readonly string[]
}
