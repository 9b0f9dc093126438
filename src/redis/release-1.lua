-- Gives the lease back and wakes who waits for it.
--
-- KEYS[1]  the intent's entry
-- ARGV     1 format, 2 intent hash, 3 token, 4 the channel of those who wait,
--          5 the most bytes an entry may have
-- Returns  1, or 0 if the lease is no longer this token's (then nothing changes)
local format, intent, token = ARGV[1], ARGV[2], ARGV[3]
local channel, most = ARGV[4], tonumber(ARGV[5])

local bytes = redis.pcall('STRLEN', KEYS[1])
if type(bytes) ~= 'number' or bytes == 0 or bytes > most then return 0 end
local readable, entry = pcall(cjson.decode, redis.call('GET', KEYS[1]))
if not readable or type(entry) ~= 'table' then return 0 end
if entry.format ~= format or entry.intent ~= intent then return 0 end
if entry.kind ~= 'held' then return 0 end
if entry.token ~= token then return 0 end

redis.call('DEL', KEYS[1])
redis.call('PUBLISH', channel, 'released')
return 1
