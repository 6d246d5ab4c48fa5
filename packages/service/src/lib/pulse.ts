/** The state of the recorder of this installation, as `/v3/status` serves it. */
export type RecorderPulse = {
  readonly venues: Readonly<
    Record<
      string,
      {
        readonly state: string
        readonly detail: string
        readonly booksOpen: number
        readonly capture?: VenuePulse
      }
    >
  >
  /** From receiving a message to its rows being durable. */
  readonly lagP50Ms: number
  readonly lagP99Ms: number
  readonly isDiskFull: boolean
}

/** The capture of one venue; totals since the recorder started. */
export type VenuePulse = {
  readonly markets: number
  readonly books: number
  readonly sockets: number
  readonly messages: number
  readonly messagesPerSecond: number
  readonly observations: number
  readonly trades: number
  readonly samples: number
  readonly gaps: number
  readonly quarantined: number
  readonly quota?: {
    readonly limit: number
    readonly windowMs: number
    readonly used: number
    readonly refused: number
  }
}

/** The live connections of one API process. */
export type StreamPulse = {
  readonly connections: number
  readonly subscriptions: number
  readonly instruments: number
  readonly messagesPerSecond: number
  /** Connections that are too slow at present, so that rows are left out for them. */
  readonly held: number
}
