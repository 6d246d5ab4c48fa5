import { configKeys } from '../config/index.ts'

/** True when a port is the one of the defaults: nobody asked for it in particular, another will do. */
export function isUsualPort(key: 'api.port' | 'ops.port', port: number): boolean {
  return configKeys().some(({ path, default: usual }) => path.join('.') === key && usual === port)
}
