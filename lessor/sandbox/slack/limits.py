"""Slack's limits as data, each from its documentation unless a comment says otherwise.

Sources: docs.slack.dev/reference/block-kit (blocks, elements, composition objects), reference/views,
reference/methods/{chat.postMessage,chat.update,views.*}, apis/web-api/rate-limits,
interactivity/handling-user-interaction (triggers, response urls).
"""

from __future__ import annotations

from typing import Final

MESSAGE_BLOCKS: Final = 50
VIEW_BLOCKS: Final = 100
SECTION_TEXT: Final = 3000
FIELD_TEXT: Final = 2000
FIELDS: Final = 10
HEADER_TEXT: Final = 150
CONTEXT_ELEMENTS: Final = 10
ACTIONS_ELEMENTS: Final = 25
LABEL_TEXT: Final = 2000
BUTTON_TEXT: Final = 75
BUTTON_VALUE: Final = 2000
ELEMENT_ID: Final = 255
PLACEHOLDER: Final = 150
OPTION_TEXT: Final = 75
OPTION_VALUE: Final = 150
OPTIONS: Final = 100
CHOICES: Final = 10
OVERFLOW_OPTIONS: Final = 5
INPUT_TEXT: Final = 3000
URL: Final = 3000
ALT_TEXT: Final = 2000
FILE_ALT_TEXT: Final = 1000
MARKDOWN_TEXT: Final = 12_000
CONFIRM_TITLE: Final = 100
CONFIRM_TEXT: Final = 300
CONFIRM_BUTTON: Final = 30

VIEW_TITLE: Final = 24
VIEW_BUTTON: Final = 24
PRIVATE_METADATA: Final = 3000
VIEW_STACK: Final = 3
VIEW_BYTES: Final = 250_000

MESSAGE_TEXT: Final = 40_000
UPDATE_TEXT: Final = 4000

# Undocumented (bolt-js#2509, #2867): refusals were seen from 11,341 characters of text in many small
# elements up to 13,297 in one block, so containers count for something as well.
BLOCKS_TOTAL: Final = 13_200
CONTAINER_WEIGHT: Final = 30

TRIGGER_SECONDS: Final = 3.0
ACK_SECONDS: Final = 3.0
RESPONSE_URL_USES: Final = 5
RESPONSE_URL_SECONDS: Final = 30 * 60
SOCKET_TICKET_SECONDS: Final = 30.0
SOCKET_CONNECTIONS: Final = 10

# Calls a minute for each tier, and the tier of each method; chat.postMessage is one a second and channel.
TIERS: Final = {1: 1, 2: 20, 3: 50, 4: 100}
METHOD_TIERS: Final = {
    "apps.connections.open": 1,
    "bots.info": 3,
    "chat.delete": 3,
    "chat.postEphemeral": 4,
    "chat.update": 3,
    "conversations.history": 3,
    "conversations.info": 3,
    "conversations.join": 3,
    "conversations.list": 2,
    "conversations.members": 4,
    "conversations.open": 3,
    "conversations.replies": 3,
    "files.completeUploadExternal": 4,
    "files.getUploadURLExternal": 4,
    "files.info": 4,
    "reactions.add": 3,
    "team.info": 3,
    "usergroups.list": 2,
    "usergroups.users.list": 2,
    "users.info": 4,
    "users.list": 2,
    "users.lookupByEmail": 3,
    "users.profile.get": 4,
    "views.open": 4,
    "views.publish": 4,
    "views.push": 4,
    "views.update": 4,
}
