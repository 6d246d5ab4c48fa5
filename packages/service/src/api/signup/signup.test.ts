import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { toMicros, type Micros } from '@priorbook/sdk/domain'
import type { SignupChallengeJson, SignupJson } from '@priorbook/sdk/wire'
import { describe, expect, it } from 'vitest'
import { createClientAddress } from '../../lib/client-address.ts'
import { createTempFolder } from '../../store/embedded/temp-folder.testing.ts'
import { CONTROL_FILE, openControl } from '../auth/control.ts'
import { adoptSecret, exportKeys, importKeys } from '../auth/shared-keys.ts'
import { createTestServer, type TestServer } from '../server.testing.ts'
import { CHALLENGE_MS } from './challenge.ts'

const BITS = 10
const START = toMicros(1_790_000_000_000_000)

// Counts zero bits by the digits of the hash, which shares nothing with the service.
function solve(challenge: string, bits: number, isEnough = true): string {
  for (let nonce = 0; ; nonce++) {
    const hex = createHash('sha256').update(`${challenge}:${nonce}`).digest('hex')
    const text = BigInt(`0x${hex}`).toString(2).padStart(256, '0')
    if (text.startsWith('0'.repeat(bits)) === isEnough) return String(nonce)
  }
}

type Home = TestServer & {
  clock: Micros
  challenge(address?: string): Promise<SignupChallengeJson>
  send(body: object, address?: string): ReturnType<TestServer['ask']>
}

async function open(
  perMinute = 1000,
  more: { readonly keys?: number; readonly path?: string } = {},
): Promise<Home> {
  const { keys = 100, ...place } = more
  const state = { clock: START }
  const test = await createTestServer({
    now: () => state.clock,
    signup: { bits: BITS, perMinute, keys },
    ...place,
    // As behind a proxy that is trusted.
    clientAddress: createClientAddress(['127.0.0.1']),
  })
  const from = (address: string) => ({ 'x-forwarded-for': address })
  return {
    ...test,
    get clock() {
      return state.clock
    },
    set clock(at) {
      state.clock = at
    },
    async challenge(address = '192.0.2.1') {
      const answer = await test.ask('/v3/signup', { headers: from(address) })
      expect(answer.status).toBe(200)
      return answer.json()['data'] as SignupChallengeJson
    },
    send: (body, address = '192.0.2.1') =>
      test.ask('/v3/signup', {
        method: 'POST',
        headers: { ...from(address), 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
  }
}

describe('sign-up', () => {
  it('is closed unless the operator opens it', async () => {
    const { ask } = await createTestServer()
    const headers = { 'content-type': 'application/json' }
    for (const method of ['GET', 'POST']) {
      const answer = await ask('/v3/signup', { method, headers })
      expect(answer.json()).toMatchObject({ status: 404, code: 'unknown_route' })
    }
  })

  it('gives a key of the cheapest plan for a solved challenge, once', async () => {
    const home = await open()
    const { challenge, bits } = await home.challenge()
    expect(bits).toBe(BITS)
    const body = { challenge, nonce: solve(challenge, bits), name: 'me' }
    const answer = await home.send(body)
    expect(answer.status).toBe(200)
    const { key, plan } = answer.json()['data'] as SignupJson
    expect(plan).toBe('explorer')
    const who = await home.ask('/v3/whoami', { key })
    expect(who.json()['data']).toMatchObject({ plan: 'explorer', name: 'me' })
    const again = await home.send(body)
    expect(again.json()).toMatchObject({ status: 400, param: 'challenge' })
    expect(again.json()['detail']).toContain('used before')
    expect(home.access.keys.list()).toHaveLength(1)
  })

  it('gives out no more keys than the operator allows, until one of them ends', async () => {
    const home = await open(1000, { keys: 2 })
    const ask = async () => {
      const { challenge, bits } = await home.challenge()
      return home.send({ challenge, nonce: solve(challenge, bits) })
    }
    const first = (await ask()).json()['data'] as SignupJson
    // Keys of other plans do not count, those of the operator do.
    home.keyOf('desk')
    home.keyOf('explorer')
    const full = await ask()
    expect(full.json()).toMatchObject({ status: 503, code: 'busy', limit: 'signup_keys' })
    expect(home.access.keys.list()).toHaveLength(3)
    home.access.keys.revoke(first.key_id)
    expect((await ask()).status).toBe(200)
    expect((await ask()).status).toBe(503)
  })

  it('gives one key on two nodes that get a challenge at the same time', async () => {
    const home = await open()
    const path = createTempFolder()
    const control = openControl(join(path, CONTROL_FILE))
    adoptSecret(control, 'cursor', home.access.cursorSecrets[0]!, START)
    const other = await open(1000, { path })
    const { challenge, bits } = await home.challenge()
    const body = { challenge, nonce: solve(challenge, bits) }
    const answers = [await home.send(body), await other.send(body)]
    const [here, there] = answers.map((answer) => answer.json()['data'] as SignupJson)
    expect(here!.key).toMatch(/^pb_live_/)
    expect(there).toEqual(here)
    // What the nodes tell each other changes nothing.
    const own = openControl(join(home.path, CONTROL_FILE))
    expect(importKeys(own, exportKeys(control))).toBe(false)
    expect(home.access.keys.list()).toHaveLength(1)
    own.close()
    control.close()
  })

  it('refuses what is too weak, forged, expired or malformed', async () => {
    const home = await open()
    const { challenge, bits } = await home.challenge()
    const nonce = solve(challenge, bits)
    const weak = challenge.replace(`.${BITS}.`, '.1.')
    const bodies = [
      { challenge, nonce: solve(challenge, bits, false) },
      // Another number of bits, another time, another signature.
      { challenge: weak, nonce: solve(weak, 1) },
      { challenge: challenge.replace('.1790', '.1990'), nonce },
      { challenge: `${challenge.slice(0, -1)}${challenge.endsWith('A') ? 'B' : 'A'}`, nonce },
      { challenge: 'nothing', nonce },
      { challenge },
      { nonce },
      { challenge, nonce, plan: 'unlimited' },
    ]
    for (const body of bodies) expect((await home.send(body)).status).toBe(400)
    home.clock = toMicros(START + CHALLENGE_MS * 1000 + 1000)
    const late = await home.send({ challenge, nonce })
    expect(late.json()['detail']).toContain('expired')
    expect(home.access.keys.list()).toEqual([])
  })

  it('stops a flood of one address or one network of IPv6, and of no other', async () => {
    const home = await open(3)
    const from = (address: string) =>
      home.ask('/v3/signup', { headers: { 'x-forwarded-for': address } })
    const statuses: number[] = []
    for (let count = 0; count < 5; count++) statuses.push((await from('192.0.2.7')).status)
    expect(statuses).toEqual([200, 200, 200, 429, 429])
    expect((await from('192.0.2.8')).status).toBe(200)
    const six: number[] = []
    for (let host = 1; host <= 4; host++) six.push((await from(`2001:db8:1:2::${host}`)).status)
    expect(six).toEqual([200, 200, 200, 429])
    expect((await from('2001:db8:1:3::1')).status).toBe(200)
    home.clock = toMicros(START + 61_000_000)
    expect((await from('192.0.2.7')).status).toBe(200)
  })
})
