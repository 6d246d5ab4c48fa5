import { describe, expect, it } from 'vitest'
import { toCurl, toPython, toSource, toTypeScript } from './snippet.ts'

describe('the requests of a panel', () => {
  const call = {
    url: "http://127.0.0.1:8780/v3/venueb/M'1/snapshots?interval=1s",
    code: "client.market({ venue: 'venueb' }).snapshots({ interval: '1s' })",
  }

  it('are curl commands that contain no key', () => {
    expect(toCurl(call)).toBe(
      `curl --compressed -H "Authorization: Bearer $PRIORBOOK_KEY" 'http://127.0.0.1:8780/v3/venueb/M%271/snapshots?interval=1s'`,
    )
    expect(toCurl({ ...call, url: 'http://h/v3/demo/gaps' })).toBe(
      "curl --compressed 'http://h/v3/demo/gaps'",
    )
  })

  it('are programs that know whether a key is needed', () => {
    expect(toTypeScript(call)).toContain("url: 'http://127.0.0.1:8780', key: process.env")
    expect(toTypeScript({ ...call, url: 'http://h/v3/demo/gaps' })).toContain('demo: true')
  })

  it('are Python programs that contain no key', () => {
    expect(toPython(call)).toContain(
      `httpx.get("${call.url}", headers={"Authorization": f"Bearer {`,
    )
    expect(toPython(call)).toMatch(/^import os\n/)
    expect(toPython({ ...call, url: 'http://h/v3/demo/gaps' })).toContain(
      'import httpx\n\nanswer = httpx.get("http://h/v3/demo/gaps")\n',
    )
  })

  it('print values as source code', () => {
    expect(toSource({ a: "it's \\", b: [1, 'x'], c: undefined, d: null, e: true })).toBe(
      String.raw`{ a: 'it\'s \\', b: [1, 'x'], d: null, e: true }`,
    )
    expect(toSource({})).toBe('{}')
  })
})
