import type { CaptureDecision } from '@priorbook/sdk/domain'
import type { CaptureNote } from '../venues/capture/contract.ts'
import type { Note } from './notes.ts'

const MARKETS_PER_NOTE = 200

/**
 * Notes that came while nothing could be written and are needed afterwards. They say how things stand, and no
 * connector says them again. Of each only the newest is kept, so that they stay few however long it lasts.
 */
export class RefusedNotes {
  /** The connections that are open now, by socket. */
  private readonly connected = new Map<number, CaptureNote>()
  private readonly tiers = new Map<string, CaptureDecision>()
  private walked: CaptureNote | undefined

  /** Returns true for a note that is kept until `take`. */
  keep(note: Note): boolean {
    switch (note.note) {
      case 'connected':
        this.connected.set(note.slot, note)
        return true
      case 'tier':
        for (const market of note.markets) {
          this.tiers.set(market, { tier: note.tier, why: note.why })
        }
        return true
      case 'walked':
        this.walked = note
        return true
      case 'loss':
        // The whole socket: its connection ended. None of its frames was kept, so none needs it.
        if (note.slot !== undefined && note.sid === undefined) this.connected.delete(note.slot)
        return false
      default:
        return false
    }
  }

  /** The notes that are kept; they are kept no longer. */
  take(): readonly CaptureNote[] {
    const { connected, walked } = this
    const notes = [...connected.values(), ...this.toTierNotes(), ...(walked ? [walked] : [])]
    connected.clear()
    this.tiers.clear()
    this.walked = undefined
    return notes
  }

  private toTierNotes(): CaptureNote[] {
    const groups = new Map<string, CaptureDecision & { readonly markets: string[] }>()
    for (const [market, decision] of this.tiers) {
      const name = JSON.stringify([decision.tier, decision.why])
      const group = groups.get(name)
      if (group === undefined) groups.set(name, { ...decision, markets: [market] })
      else group.markets.push(market)
    }
    return [...groups.values()].flatMap(({ tier, why, markets }) =>
      Array.from({ length: Math.ceil(markets.length / MARKETS_PER_NOTE) }, (_, part) => {
        const from = part * MARKETS_PER_NOTE
        return { note: 'tier', tier, why, markets: markets.slice(from, from + MARKETS_PER_NOTE) }
      }),
    )
  }
}
