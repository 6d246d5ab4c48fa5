import { lookup as lookUp, type LookupAddress, type LookupAllOptions } from 'node:dns'
import { isIP, type BlockList, type LookupFunction } from 'node:net'
import { isInNetworks as isIn, toNetworks } from '../lib/networks.ts'

// Networks that are not the public Internet: an address in them may be a part of the operator's own.
const PRIVATE_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]
// Of IPv6 the global unicast space is public, without what embeds IPv4 addresses, tunnels and examples.
const PUBLIC_V6 = '2000::/3'
const PRIVATE_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

/** Asks for all addresses of a name, as `lookup` of Node does. */
type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void

/** Says to which addresses webhooks may be sent: public ones, and those that the operator allows. */
export class AddressGuard {
  readonly #allowed: BlockList
  readonly #private = toNetworks([...PRIVATE_V4, ...PRIVATE_V6])
  readonly #public6 = toNetworks([PUBLIC_V6])
  readonly #resolve: Resolve

  constructor(allowed: readonly string[], resolve: Resolve = lookUp) {
    this.#resolve = resolve
    this.#allowed = toNetworks(allowed, 'alerts.allowNetworks')
  }

  /** Why an address of a webhook cannot be used; undefined where it can. */
  refuse(address: string): string | undefined {
    if (!URL.canParse(address)) return 'is not an address such as https://example.org/hook'
    const { protocol, hostname, username, password } = new URL(address)
    if (protocol !== 'https:' && protocol !== 'http:') return 'is not an address of https'
    if (username !== '' || password !== '') return 'holds a name or a password'
    const host = hostname.replace(/^\[|\]$/g, '')
    const isAllowed = isIP(host) !== 0 && isIn(this.#allowed, host)
    if (protocol === 'http:' && !isAllowed) return 'is not an address of https'
    if (isIP(host) !== 0 && !this.mayReach(host)) return 'is in a network that is not public'
    return undefined
  }

  /** True for an address that may be connected to. */
  mayReach(address: string): boolean {
    const plain = address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '')
    if (isIn(this.#allowed, plain)) return true
    if (isIn(this.#private, plain)) return false
    return isIP(plain) === 4 || (isIP(plain) === 6 && isIn(this.#public6, plain))
  }

  /**
   * Resolves a name for a connection, which goes to the addresses that were checked here. An answer with an address
   * that may not be reached is refused whole.
   */
  readonly lookup: LookupFunction = (hostname, options, done) => {
    const onFound = (error: NodeJS.ErrnoException | null, found: LookupAddress[]): void => {
      const bad = found?.find(({ address }) => !this.mayReach(address))
      if (error !== null) done(error, '', 0)
      else if (bad !== undefined) {
        done(new Error('the name leads to a network that is not public'), '', 0)
      } else if (options.all === true) done(null, found)
      else done(null, found[0]!.address, found[0]!.family)
    }
    this.#resolve(hostname, { ...options, all: true }, onFound)
  }
}
