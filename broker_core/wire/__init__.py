"""The wire codec: bytes to commands and back, without a socket, a clock, or an event loop.

    frame.py            FrameDecoder: chunks -> SendRun, SingleSend, Command, MessageFrame
    bounds.py           limits for the fields of a client's commands
    message_run.py      runs of MESSAGEs;  received.py  the type of received bytes
    plain_send.py       the decoder's hot path: SENDs into runs;  send.py  runs;  send_metadata.py  publish times
    encode.py           ReceiptEncoder, MessageEncoder: the two most frequent commands
    commands.py         every other command of a broker;  client_commands.py  those of a client
    client_protocol.py  what every client does: handshake, PING, AUTH_CHALLENGE
    message.py          an entry: broker metadata, checksum, metadata, payload
    markers.py          entries that clusters write for one another (PIP-33)
    batch.py            messages in a batch;  compression.py  the codecs of its payload
    errors.py           ProtocolError ends a connection, EntryError concerns one entry
    fixed_values.py     values of fixed size, by their schema
    segment_clients.py  the names of producers and consumers in segments
    texts.py            text that is not UTF-8;  wrong_port.py  the answer of a web server
    varint.py           protobuf's integers;  topics_hash.py  the hash of a topic list

docs/reference/protocol.md states the rules. `make proto` generates `pulsar_api_pb2` and `pulsar_markers_pb2` from
proto/.
"""
