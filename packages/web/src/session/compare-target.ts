import type { ReadonlySignal, Signal } from '@preact/signals'
import type { ContractWithTermsJson } from '@priorbook/sdk/client'
import type { Panel } from '../app/panel.ts'
import type { Trouble } from '../app/trouble.ts'
import type { ContractInstant } from './contract-instant.ts'
import type { TimeSession } from './time-store.ts'

/** A page that compares the members of a contract, as its history and its replay see it. */
export interface CompareTarget extends TimeSession {
  readonly contractId: string
  readonly contract: ReadonlySignal<ContractWithTermsJson | undefined>
  readonly closes: ReadonlySignal<number | undefined>
  /** The instant that is asked for; absent at the present. */
  readonly time: Signal<number | undefined>
  /** Everything that the page shows of one instant. */
  readonly shown: ReadonlySignal<ContractInstant | undefined>
  readonly instantTrouble: Signal<Trouble | undefined>
  readonly panels: { readonly instant: Panel }
  readonly stopping: AbortController
  /** Reads everything of one instant. */
  read(at: number, signal: AbortSignal): Promise<ContractInstant>
  /** Shows an instant that was read. */
  put(instant: ContractInstant): void
}
