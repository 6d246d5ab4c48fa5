// Runs after `npm install`. The npm package `node` fetches its binary from a second package that the lock
// file does not name, so the binary is compared here with the SHA-256 of the published one.
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const SHA256 = {
  '24.21.0 linux-x64': '7fde7b8afa198da66257f42ee2001d874c7355631e6d1579a5fb5ef1f246df4c',
  '24.21.0 linux-arm64': '0f8949d1028f6d61506b2d5bc57e7e6fe893d7b1997509b7847294fc9c616584',
  '24.21.0 win32-x64': 'ba4e6d110e8c1592a1ecd390f6b05f3da124b13871a5be62b341a07a853c6c32',
}

const folder = process.argv[2] ?? fileURLToPath(new URL('../node_modules/node/', import.meta.url))
const binary = `${folder}/bin/node${process.platform === 'win32' ? '.exe' : ''}`
if (existsSync(binary)) {
  const { version } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
  const name = `${version} ${process.platform}-${process.arch}`
  const wanted = SHA256[name]
  if (wanted === undefined) console.warn(`Node ${name}: no published hash is known, not compared`)
  else {
    const hash = createHash('sha256')
    for await (const part of createReadStream(binary)) hash.update(part)
    const found = hash.digest('hex')
    if (found !== wanted) {
      console.error(
        `${binary} is not Node ${name} as published (SHA-256 ${found}, expected ${wanted}): remove node_modules and install again from a registry that you trust.`,
      )
      process.exit(1)
    }
  }
}
