import type { Wire } from '../../core/upstream.ts'
import type { Condition } from './conditions.ts'

/** One client of the market channel. */
export type Client = {
  readonly wire: Wire
  /** Counts the connections, so that frames go out in a fixed order. */
  readonly number: number
  readonly assets: Set<string>
  custom: boolean
}

/** A client and which tokens of a market it follows. */
export type Listener = { readonly client: Client; readonly wanted: readonly [boolean, boolean] }

const NONE: readonly Client[] = []
const FIRST = [true, false] as const
const SECOND = [false, true] as const
const BOTH = [true, true] as const

/** Who follows which token: found by token, however many clients are connected. */
export class Audience {
  readonly #clients = new Set<Client>()
  readonly #byToken = new Map<string, Client[]>()
  #connected = 0

  /** All clients, in the order in which they connected. */
  get clients(): ReadonlySet<Client> {
    return this.#clients
  }

  join(wire: Wire): Client {
    const client: Client = { wire, number: ++this.#connected, assets: new Set(), custom: false }
    this.#clients.add(client)
    return client
  }

  leave(client: Client): void {
    this.#clients.delete(client)
    for (const token of client.assets) this.#remove(client, token)
  }

  follow(client: Client, token: string): void {
    client.assets.add(token)
    const clients = this.#byToken.get(token)
    if (clients === undefined) {
      this.#byToken.set(token, [client])
      return
    }
    let at = clients.length
    while (at > 0 && clients[at - 1]!.number > client.number) at--
    clients.splice(at, 0, client)
  }

  unfollow(client: Client, token: string): void {
    if (client.assets.delete(token)) this.#remove(client, token)
  }

  /** Those who follow a token of the market, in the order in which they connected. */
  of({ tokens }: Condition): readonly Listener[] {
    const first = this.#byToken.get(tokens[0]) ?? NONE
    const second = this.#byToken.get(tokens[1]) ?? NONE
    const listeners: Listener[] = []
    for (let a = 0, b = 0; a < first.length || b < second.length;) {
      const one = first[a]
      const other = second[b]
      if (one === other) {
        listeners.push({ client: one!, wanted: BOTH })
        a++
        b++
      } else if (other === undefined || (one !== undefined && one.number < other.number)) {
        listeners.push({ client: one!, wanted: FIRST })
        a++
      } else {
        listeners.push({ client: other, wanted: SECOND })
        b++
      }
    }
    return listeners
  }

  #remove(client: Client, token: string): void {
    const clients = this.#byToken.get(token)
    const at = clients?.indexOf(client) ?? -1
    if (at >= 0) clients!.splice(at, 1)
    if (clients?.length === 0) this.#byToken.delete(token)
  }
}
