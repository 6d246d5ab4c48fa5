import { BlockList, isIP } from 'node:net'
import { PriorbookError } from '@priorbook/sdk/domain'

/** Networks by address and length (10.0.0.0/8), or single addresses; throws naming the setting that is wrong. */
export function toNetworks(entries: readonly string[], setting = 'a network'): BlockList {
  const list = new BlockList()
  for (const entry of entries) {
    const [address = '', prefix, ...rest] = entry.split('/')
    const family = isIP(address)
    const most = family === 4 ? 32 : 128
    const bits = prefix === undefined ? most : /^\d+$/.test(prefix) ? Number(prefix) : Infinity
    if (family === 0 || bits > most || rest.length > 0) {
      const detail = `${setting}: ${JSON.stringify(entry)} is neither an address nor a network`
      throw new PriorbookError('invalid_config', detail)
    }
    list.addSubnet(address, bits, family === 4 ? 'ipv4' : 'ipv6')
  }
  return list
}

/** True for an address in one of the networks; false for what is not an address. */
export function isInNetworks(list: BlockList, address: string): boolean {
  const family = isIP(address)
  return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6')
}
