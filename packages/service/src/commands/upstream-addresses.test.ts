import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '../config/index.ts'
import { startServe } from './serve.testing.ts'
import { refuseMixedVenues } from './upstream-addresses.ts'

// Whatever is listening there: no call may be made.
const OWN = 'http://127.0.0.9:1'
const OWN_WS = 'ws://127.0.0.9:1'

const ADDRESSES = {
  PRIORBOOK_VENUEA_REST: OWN,
  PRIORBOOK_VENUEA_WS: OWN_WS,
  PRIORBOOK_VENUEA_API_KEY: 'key',
  PRIORBOOK_VENUEA_API_SECRET: 'secret',
  PRIORBOOK_VENUEB_REST: OWN,
  PRIORBOOK_VENUEB_WS: OWN_WS,
  PRIORBOOK_VENUEC_GAMMA: OWN,
  PRIORBOOK_VENUEC_CLOB: OWN,
  PRIORBOOK_VENUEC_WS: OWN_WS,
  PRIORBOOK_VENUEC_RTDS: OWN_WS,
}

const check = (env: Readonly<Record<string, string>>): void =>
  refuseMixedVenues(loadConfig({ env }))

function without(name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(ADDRESSES).filter(([key]) => key !== name))
}

const refusal = (name: string) =>
  expect.objectContaining({ code: 'invalid_config', message: expect.stringContaining(name) })

describe('the addresses of a recorder of the real venues', () => {
  it('are all of an emulator, or none is', () => {
    expect(() => check(ADDRESSES)).not.toThrow()
    expect(() => check({})).not.toThrow()
  })

  it.each([
    ['PRIORBOOK_VENUEA_REST', 'venuea.rest is https://'],
    ['PRIORBOOK_VENUEA_WS', 'venuea.ws is wss://'],
    ['PRIORBOOK_VENUEB_REST', 'venueb.rest is https://'],
    ['PRIORBOOK_VENUEB_WS', 'venueb.ws is wss://'],
    ['PRIORBOOK_VENUEC_GAMMA', 'venuec.gamma is https://'],
    ['PRIORBOOK_VENUEC_CLOB', 'venuec.clob is https://'],
    ['PRIORBOOK_VENUEC_WS', 'venuec.ws is wss://'],
    ['PRIORBOOK_VENUEC_RTDS', 'venuec.rtds is wss://'],
  ])('are refused where %s was left out', (left, said) => {
    expect(() => check(without(left))).toThrow(refusal(said))
  })

  it('are not asked of a venue or a feed that is off', () => {
    const left = without('PRIORBOOK_VENUEC_RTDS')
    expect(() => check({ ...left, PRIORBOOK_VENUEC_RTDS: '' })).not.toThrow()
    expect(() => check({ ...left, PRIORBOOK_VENUEC_ENABLED: 'false' })).not.toThrow()
    const { PRIORBOOK_VENUEA_REST: _rest, PRIORBOOK_VENUEA_API_KEY: _key, ...rest } = ADDRESSES
    expect(() => check(rest)).not.toThrow()
  })

  it('may have a node of the chain on this machine, but not a real one beside an emulator', () => {
    expect(() => check({ PRIORBOOK_VENUEA_CHAIN_RPC: OWN })).not.toThrow()
    const real = { ...ADDRESSES, PRIORBOOK_VENUEA_CHAIN_RPC: 'https://bsc.example' }
    expect(() => check(real)).toThrow(refusal('venuea.chainRpc is https://bsc.example'))
  })
})

it('serve refuses a mixture of addresses before it makes a call or a folder', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'priorbook-mixed-'))
  onTestFinished(() => rmSync(scratch, { recursive: true, force: true }))
  const data = join(scratch, 'data')
  const served = await startServe(
    scratch,
    ['--upstream', 'live', '--data', data],
    without('PRIORBOOK_VENUEC_CLOB'),
  )
  expect(await served.ended).toBe(1)
  expect(served.printed()).toContain('venuec.clob is https://')
  expect(existsSync(join(data, 'tape.db'))).toBe(false)
})
