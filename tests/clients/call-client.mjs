// Calls methods of an official JavaScript client, one per line of standard input; the protocol is that of
// call_client.py. It runs beside the installed packages, which `import` finds from there.
import { createInterface } from 'node:readline'

const [name, json] = process.argv.slice(2)
const addresses = JSON.parse(json)
const library = await import(name)

// Both generations of the client; neither needs a key for public data.
function polymarket() {
  const { clob: host } = addresses
  const isFirst = name === '@polymarket/clob-client'
  const client = isFirst
    ? new library.ClobClient(host, 137)
    : new library.ClobClient({ host, chain: 137 })
  return (method, values) => client[method](...values)
}

// The generated client, with its own signatures. Its methods have positional parameters.
function kalshi() {
  const { rest: basePath, keyId: apiKey, privateKey: privateKeyPem } = addresses
  const configuration = new library.Configuration({ basePath, apiKey, privateKeyPem })
  return async (method, values) => {
    const [api, operation] = method.split('.')
    const client = new library[api](configuration)
    const parameters = /\(([^)]*)\)/.exec(client[operation].toString())[1].split(/,\s*/)
    const unknown = Object.keys(values).filter((value) => !parameters.includes(value))
    if (unknown.length > 0) throw new Error(`${method} has no ${unknown.join(', ')}`)
    const { data } = await client[operation](...parameters.map((parameter) => values[parameter]))
    return { parsed: data, sent: data }
  }
}

const call = name.startsWith('kalshi') ? kalshi() : polymarket()
for await (const line of createInterface({ input: process.stdin })) {
  const { method, arguments: values } = JSON.parse(line)
  let answer
  try {
    answer = { result: await call(method, values) }
  } catch (error) {
    answer = { error: `${error.name}: ${error.message}` }
  }
  console.log(JSON.stringify(answer))
}
